// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
@_spi(Internals) import OptimistServing

/// Logs the events of the spaces' audits: one line each, with ids, but without names and texts.
struct SpaceLog: Sendable {
    let logger: Logger

    func note(_ event: SpaceEvent, in account: String) {
        var metadata: Logger.Metadata = ["space.event": "\(event.what)", "account.id": "\(account)"]
        metadata["person.id"] = event.person.map { "\($0)" }
        metadata["device.id"] = event.device.map { "\($0)" }
        metadata["space.subject"] = event.subject.map { "\($0)" }
        metadata["space.detail"] = event.detail.map { "\($0)" }
        logger.info("Space", metadata: metadata)
    }
}
