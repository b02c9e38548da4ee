// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// The rule for text from clients that is not a row's value: names, addresses, ids and parts of URLs.
///
/// Such text is shown to operators and used in queries. PostgreSQL refuses a NUL character, and terminals obey escape
/// sequences.
enum OutsideText {
    static func isClean(_ text: some StringProtocol) -> Bool { !text.unicodeScalars.contains(where: \.controls) }

    static func check(_ text: String, _ member: String) throws(AuthRefusal) {
        if isClean(text) { return }
        throw .invalidRequest("\"\(member)\" contains a control character. Remove it.", reason: "invalid_text")
    }
}

/// Refuses requests whose decoded path or query contains a control character or is not UTF-8.
struct CleanTarget<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        guard let target = request.head.path?.removingPercentEncoding, OutsideText.isClean(target) else {
            throw RequestProblem(
                type: "about:blank", status: 400,
                detail: "The request's path or query contains a control character or is not UTF-8.")
        }
        return try await next(request, context)
    }
}
