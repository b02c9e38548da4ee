// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
@_spi(Internals) import OptimistWire
import Synchronization
import SystemPackage

/// Detects that the open database file was replaced or removed. Writes to it would then be lost.
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

    init(_ path: String, logger: Logger) {
        self.path = path
        self.logger = logger
        opened = Identity(path)
    }

    /// - Throws: ``RequestProblem`` with status 503 if the file was replaced or removed. The first time, the problem is
    ///   also logged.
    func check() throws(RequestProblem) {
        guard Identity(path) != opened else { return }
        let isNews = wasTold.withLock { wasTold in
            defer { wasTold = true }
            return !wasTold
        }
        if isNews {
            logger.critical(
                "The database file was replaced or removed while the server ran. Restart the server to store data.",
                metadata: ["database.path": "\(path)"])
        }
        throw RequestProblem(
            type: "about:blank", status: 503,
            detail: "The server's data was replaced while it ran. Nothing was stored. Restart the server.")
    }
}
