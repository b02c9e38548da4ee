// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistServing
import OptimistWire
import Testing

@testable import OptimistServer

/// A server started from an old copy of its file.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct BackupTests {
    @Test func `L3: a restored server rejects states beyond the backup, and its devices heal it`() async throws {
        let file = try StoreFile()
        var server = try file.open(epoch: "e1")
        try await server.put(1, "first", at: 0, push: 1)
        try server.database.pool.close()
        let backup = try Data(contentsOf: URL(filePath: file.path))

        server = try file.open(epoch: "e2")
        try await server.put(1, "by another", at: 1, by: "deviceBB", push: 2)
        try await server.put(2, "lost", at: 2, push: 3)
        let whole = try await server.pull("e1.0")
        #expect(whole["newState"] == "e2.3")
        try server.database.pool.close()

        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
        try backup.write(to: URL(filePath: file.path))
        server = try file.open(epoch: "e3")
        let lives: JSON = [["epoch": "e1", "firstSeq": 0], ["epoch": "e3", "firstSeq": 1]]
        // The lost epoch is unknown, so all epochs are listed.
        let forked = try await server.pull("e2.3")
        #expect(forked["type"] == "forked")
        #expect(forked["epochs"] == lives)
        let contained = try await server.pull("e1.1")
        #expect(contained["newState"] == "e3.1")
        #expect(contained["epochs"] == lives)
        #expect(try await server.pull("e1.2")["type"] == "forked")

        // A device continues its push numbers. It sends all rows it knows, including other devices' rows with their
        // clocks.
        try await server.put(1, "by another", at: 1, by: "deviceBB", push: 4)
        try await server.put(2, "lost", at: 2, push: 5)
        let healed = try await server.pull("e1.0")
        func rows(_ answer: JSONObject) -> [String: [JSON?]] {
            Dictionary(
                (answer["list"]?.array ?? []).map { ($0["id"]?.string ?? "", [$0["content"], $0["@hlc"]]) },
                uniquingKeysWith: { $1 })
        }
        #expect(rows(healed).count == 2)
        #expect(rows(healed) == rows(whole))
        try server.database.pool.close()
    }
}
