// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
@_spi(Internals) import OptimistWire
import Synchronization
import SystemPackage

/// The database's file as it was opened. One that is put in its place while the server runs is noticed: what is written
/// from then on would go into the old file, and be gone with it.
final class DatabaseFile: Sendable {
    private struct Identity: Equatable {
        let device: DeviceID
        let number: Inode

        init?(_ path: String) {
            guard let found = try? Stat(FilePath(path)) else { return nil }
            device = found.deviceID
            number = found.inode
        }
    }

    private let path: String
    private let opened: Identity?
    private let logger: Logger
    private let wasTold = Mutex(false)

    /// - Parameter path: Where the file is, which has just been opened.
    init(_ path: String, logger: Logger) {
        self.path = path
        self.logger = logger
        opened = Identity(path)
    }

    /// - Throws: ``RequestProblem`` with status 503 if another file, or none, is at the path. The first time it is logged.
    func check() throws(RequestProblem) {
        guard Identity(path) != opened else { return }
        let isNews = wasTold.withLock { wasTold in
            defer { wasTold = true }
            return !wasTold
        }
        if isNews {
            logger.critical(
                "The database's file was replaced or removed while the server ran. Nothing is stored until it is restarted.",
                metadata: ["database.path": "\(path)"])
        }
        throw RequestProblem(
            type: "about:blank", status: 503,
            detail: "The server's data was replaced while it ran: it has to be restarted. Nothing was stored.")
    }
}
