// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore
import OptimistServing
import OptimistWire

extension Hummingbird.Request {
    /// Reads the whole body. A client that waits for it is told to send it now.
    ///
    /// - Parameters:
    ///   - maxBytes: A larger one is refused, before it is read if its length is announced.
    ///   - deadline: How long the client has to send it. After that the connection is closed.
    ///   - take: Called before bytes are kept, with their number. What it throws ends the reading.
    /// - Throws: ``RequestProblem`` `limit` with status 413; with status 415 for a coded body; with status 400 when the body
    ///   breaks off.
    func body(
        upTo maxBytes: Int, deadline: TimeAmount, _ context: ServerContext,
        taking take: (Int) throws(RequestProblem) -> Void = { _ in }
    ) async throws -> ByteBufferView {
        try checkCoding()
        let tooLarge = RequestProblem.limit("maxSizeRequest", "A request holds at most \(maxBytes) bytes.")
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
                // At once as large as announced: a buffer that grows has its bytes twice for a while.
                if whole.readableBytes == 0, let announced { whole.reserveCapacity(announced) }
                whole.writeImmutableBuffer(part)
            }
            return whole.readableBytesView
        } catch let error as RequestProblem {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            // Broken off, or not framed as HTTP frames bodies.
            throw RequestProblem(type: "about:blank", status: 400, detail: "The body cannot be read to its end.")
        }
    }

    /// A body that is packed would be read as what it is not.
    private func checkCoding() throws(RequestProblem) {
        let codings = headers[values: .contentEncoding].flatMap { $0.split { $0 == "," || $0 == " " } }
        guard codings.allSatisfy({ $0.lowercased() == "identity" }) else {
            throw RequestProblem(
                type: "about:blank", status: 415, detail: "A body is sent as it is, without a Content-Encoding.")
        }
    }
}
