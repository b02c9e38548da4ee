// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension Hummingbird.Request {
    /// Reads the entire body. If the client waits for `100 Continue`, it is sent first.
    ///
    /// - Parameters:
    ///   - maxBytes: A larger body is refused, without reading it if its length is announced.
    ///   - deadline: How long the client may take before the connection is closed.
    ///   - take: Called with a number of bytes before they are buffered. An error from `take` ends the reading.
    /// - Throws: ``RequestProblem`` `limit` with status 413; with status 415 for a body with a content coding; with
    ///   status 400 if the body is incomplete; any error of `take`.
    func body(
        upTo maxBytes: Int, deadline: TimeAmount, _ context: ServerContext,
        taking take: (Int) throws(RequestProblem) -> Void = { _ in }
    ) async throws -> ByteBufferView {
        try checkCoding()
        let tooLarge = RequestProblem.limit("maxSizeRequest", "A request may have at most \(maxBytes) bytes.")
        let announced = headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > maxBytes { throw tooLarge }
        let channel = context.channel
        channel.triggerUserOutboundEvent(RequestHeads.BodyIsAwaited(), promise: nil)
        let timer = channel.eventLoop.scheduleTask(in: deadline) { channel.close(promise: nil) }
        defer { timer.cancel() }
        do {
            var whole = ByteBuffer()
            for try await part in body {
                guard whole.readableBytes + part.readableBytes <= maxBytes else { throw tooLarge }
                try take(part.readableBytes)
                // Reserve the announced size at the start, because a buffer that grows holds its bytes twice.
                if whole.readableBytes == 0, let announced { whole.reserveCapacity(announced) }
                whole.writeImmutableBuffer(part)
            }
            return whole.readableBytesView
        } catch let error as RequestProblem {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RequestProblem(type: "about:blank", status: 400, detail: "The body is incomplete or malformed.")
        }
    }

    /// The server cannot decode content codings.
    private func checkCoding() throws(RequestProblem) {
        let codings = headers[values: .contentEncoding].flatMap { $0.split { $0 == "," || $0 == " " } }
        guard codings.allSatisfy({ $0.lowercased() == "identity" }) else {
            throw RequestProblem(
                type: "about:blank", status: 415, detail: "Send the body without a Content-Encoding.")
        }
    }
}
