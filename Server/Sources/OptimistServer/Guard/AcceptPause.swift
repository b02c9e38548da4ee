// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import NIOCore

/// Stops accepting connections for a second when the system has no descriptor, or no memory, for another one.
///
/// NIO's own handler for this waits before the next read; but after an error the read before that is still wanted, so the
/// selector reports the same connection again and again, at the cost of a whole core.
final class AcceptPause: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Channel

    private let logger: Logger
    private var isPaused = false

    init(logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is IOError, !isPaused { pause(context) }
        context.fireErrorCaught(error)
    }

    private func pause(_ context: ChannelHandlerContext) {
        isPaused = true
        logger.warning("No connection can be accepted: too many files are open. Trying again in a second.")
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [self] in
            isPaused = false
            // A server that has ended meanwhile reads no more.
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
    }
}
