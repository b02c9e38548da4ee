// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import NIOCore

/// Pauses accepting for a second when the system does not have a descriptor or memory for another connection.
///
/// NIO's own handler only delays the next read. The failed connection is still pending, so the selector keeps reporting
/// it and uses up a CPU core.
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
        logger.warning("Connections cannot be accepted: too many files are open. The server tries again in a second.")
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [self] in
            isPaused = false
            // Fails harmlessly if the server has stopped.
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
    }
}
