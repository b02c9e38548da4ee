// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import Logging
import NIOCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension Hummingbird.Response {
    init(_ status: HTTPResponse.Status = .ok, type: String = "application/json", body: [UInt8]) {
        self.init(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }

    /// An answer that is written in pieces, as fast as the client reads it.
    ///
    /// - Parameter end: Called when the last piece has been handed over, or when the client has left.
    init(body: [UInt8], on eventLoop: any EventLoop, until end: @escaping @Sendable () -> Void) {
        self.init(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(contentLength: body.count) { writer in
                defer { end() }
                var pieces = AnswerPieces(writer, on: eventLoop)
                for start in stride(from: 0, to: body.count, by: AnswerPieces.bytes) {
                    let piece = body[start..<min(start + AnswerPieces.bytes, body.count)]
                    try await pieces.write(ByteBuffer(bytes: piece))
                }
                try await pieces.finish(nil)
            })
    }

    init(_ problem: RequestProblem) {
        self.init(.init(code: problem.status), type: "application/problem+json", body: problem.json.bytes)
    }

    init(_ refusal: AuthRefusal) {
        self.init(.init(code: refusal.status), body: refusal.json.bytes)
        if let seconds = refusal.retryAfterSeconds { headers[.retryAfter] = String(seconds) }
    }

    init(_ unauthorized: Unauthorized) {
        self.init(.unauthorized, type: "application/problem+json", body: unauthorized.json.bytes)
        headers[.wwwAuthenticate] = unauthorized.challenge
    }
}

/// Turns the error of a route into the protocol's answer, without internal details.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: Context,
        next: @concurrent (Hummingbird.Request, Context) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        do {
            return try await next(request, context)
        } catch let problem as RequestProblem {
            var response = Response(problem)
            if [429, 503].contains(problem.status) { response.headers[.retryAfter] = "1" }
            if problem.status == 415 { response.headers[.acceptEncoding] = "identity" }
            return response
        } catch let refusal as AuthRefusal {
            return Response(refusal)
        } catch let unauthorized as Unauthorized {
            return Response(unauthorized)
        } catch StoreError.noAccount {
            return Response(Unauthorized(description: "The account was deleted.", end: .accountDeleted))
        } catch let error as any HTTPResponseError {
            let status = error.status
            return Response(RequestProblem(type: "about:blank", status: status.code, detail: status.reasonPhrase))
        } catch let error as any StorageFailure {
            context.logger.error("The database failed", metadata: ["\(error.code.name)": "\(error.code.value)"])
            var response = Response(RequestProblem(type: "about:blank", status: 503, detail: error.detail))
            response.headers[.retryAfter] = String(error.retryAfterSeconds)
            return response
        } catch is CancellationError {
            // The server is shutting down, or the client has left. A client that closed only its sending side can still
            // read this.
            let detail = """
                The client closed its side of the connection, or the server is shutting down. Nothing was stored. Try \
                again, and keep the connection open until the answer arrives.
                """
            var response = Response(RequestProblem(type: "about:blank", status: 503, detail: detail))
            response.headers[.retryAfter] = "1"
            return response
        } catch {
            context.logger.error("A request failed", metadata: ["error.type": "\(type(of: error))"])
            return Response(
                RequestProblem(type: "about:blank", status: 500, detail: "Something went wrong on the server."))
        }
    }
}
