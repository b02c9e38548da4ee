// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Hummingbird
import Logging
import NIOCore
import Optimist
import OptimistCore
import OptimistServer
import OptimistSession

/// Maps errors to `{"code", "message"}` with a matching status.
struct LabErrors<Context: RequestContext>: RouterMiddleware {
    private struct Body: ResponseEncodable {
        var code: String
        var message: String
    }

    @concurrent
    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as OptimistError {
            return try answer(status(of: error.code), error.code.description, error.message, request, context)
        } catch let error as TransportError {
            return try answer(
                .gatewayTimeout, "\(error.kind)", "The phone has no connection to the server.", request, context)
        } catch let error as any StorageFailure where !(error is DatabaseError) {
            // The servers' database may have been killed. A phone's own database must not fail.
            context.logger.warning("The database failed", metadata: ["\(error.code.name)": "\(error.code.value)"])
            return try answer(.serviceUnavailable, "databaseFailed", error.detail, request, context)
        } catch let error as DecodingError {
            return try answer(.badRequest, "badLabRequest", Self.sentence(error), request, context)
        } catch is NIOTooManyBytesError {
            return try answer(.contentTooLarge, "badLabRequest", "The request exceeds 1 MB.", request, context)
        } catch let error as HTTPError {
            let code = error.status == .badRequest ? "badLabRequest" : "http"
            return try answer(error.status, code, error.body ?? error.status.reasonPhrase, request, context)
        }
    }

    private func status(of code: OptimistError.Code) -> HTTPResponse.Status {
        switch code {
        case .notInLab, .unknownSession, .unknownIdentity, .init("unknownRejection"): .notFound
        case .badLabRequest: .badRequest
        case .deviceIsDown: .conflict
        case .oldWayFailed: .gatewayTimeout
        case .signInRefused, .signedOut, .wrongPassword, .emailTaken: .forbidden
        case .readOnlySpace, .notOwner, .lastOwner: .forbidden
        case .unknownSpace, .crossesSpaces, .tooManyToMove, .lastWayIn, .identityTaken: .conflict
        default: .internalServerError
        }
    }

    private func answer(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, _ request: Request, _ context: Context
    ) throws -> Response {
        var response = try Body(code: code, message: message).response(from: request, context: context)
        response.status = status
        return response
    }

    private static func sentence(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "The member \"\(key.stringValue)\" is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "The member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\" has the wrong type."
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "The member \"\(context.codingPath.map(\.stringValue).joined(separator: "."))\" has an unknown value."
        case .dataCorrupted: "The request's body is not JSON."
        @unknown default: "The request's body cannot be read."
        }
    }
}
