// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// The one rule for texts from outside that are not a row's values: names, addresses, ids and the parts of a URL.
///
/// They are shown to operators and looked up in the data. PostgreSQL refuses a zero character, and a terminal obeys escape
/// sequences.
enum OutsideText {
    /// Whether no character of a text controls anything: see `Unicode.Scalar.controls`.
    static func isClean(_ text: some StringProtocol) -> Bool { !text.unicodeScalars.contains(where: \.controls) }

    /// Refuses a member of a body that is not clean.
    static func check(_ text: String, _ member: String) throws(AuthRefusal) {
        if isClean(text) { return }
        throw .invalidRequest("\"\(member)\" has a control character. Leave it out.", reason: "invalid_text")
    }
}

/// Refuses requests whose path or query is not clean, or is not UTF-8, once its escapes are resolved.
struct CleanTarget<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        guard let target = request.head.path?.removingPercentEncoding, OutsideText.isClean(target) else {
            throw RequestProblem(
                type: "about:blank", status: 400,
                detail: "The path or the query of the request has a control character, or is not UTF-8.")
        }
        return try await next(request, context)
    }
}
