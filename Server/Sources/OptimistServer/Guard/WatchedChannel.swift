// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// An HTTP/1 connection that closes if its client is too slow or its address has too many connections.
struct WatchedChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    struct Settings: Sendable {
        var idleTimeout: TimeAmount
        var readerPatience: TimeAmount
        var endPatience: TimeAmount
    }

    private let base: HTTP1Channel
    private let settings: Settings
    private let addresses: AddressLimit

    static func builder(_ settings: Settings, addresses: AddressLimit) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            WatchedChannel(
                base: HTTP1Channel(responder: responder, configuration: .init(idleTimeout: settings.idleTimeout)),
                settings: settings, addresses: addresses)
        }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let owner = channel.remoteAddress?.connectionOwner ?? "unknown"
        let mayStay = addresses.enter(owner)
        if mayStay {
            channel.closeFuture.whenComplete { [addresses] _ in addresses.leave(owner) }
        } else {
            logger.notice("An address has too many connections", metadata: ["connection.address": "\(owner)"])
        }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { [settings] value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let watch = ConnectionWatch(
                mayStay: mayStay, readerPatience: settings.readerPatience, endPatience: settings.endPatience)
            try pipeline.addHandlers([watch, RequestHeads(), DepartureWatch()], position: .after(decoder))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
