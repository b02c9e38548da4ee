// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import Testing

@testable import OptimistSimulation

@Suite("The judges' files", .timeLimit(.minutes(20)))
struct JudgeFilesTests {
    @Test func `data left by a crash is read, and stays on the disk unchanged`() throws {
        let disk = SimulatedDisk(seed: 1)
        let mount = disk.mount()
        let pool = try DatabasePool(path: mount.url("a.sqlite").path)
        try pool.write { db in try db.execute(sql: "CREATE TABLE t(n INTEGER); INSERT INTO t VALUES (7)") }
        withExtendedLifetime(pool) { mount.kill() }
        let (left, changes) = (disk.copy("a.sqlite"), disk.changes)
        #expect(left["a.sqlite-wal"]?.isEmpty == false)
        let found = try JudgeFiles().read("a.sqlite", on: disk, of: "server", while: nil) { db in
            try Int.fetchAll(db, sql: "SELECT n FROM t")
        }
        #expect(found == [7])
        #expect(disk.copy("a.sqlite") == left)
        #expect(disk.changes == changes)
    }

    @Test func `data left by a dead server counts only after the next server has started`() throws {
        let world = World.quiet()
        defer { world.end() }
        let users = try #require(world.users as? OnePerson)
        world.server.kill()
        try DatabaseQueue(path: world.data.disk.mount().url(ServerOnDisk.file).path).write { db in
            try db.execute(
                sql: """
                    INSERT INTO optimist_accounts (account_id, password, created_at, seq) VALUES ('account', '', '', 1)
                        ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq;
                    INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content)
                    VALUES ('account', 'list', '01000000-0000-4000-8000-000000000001', 1, 1, 0, 1, '{}')
                    """)
        }
        world.commits.happened()
        #expect(users.withState(\.history.log.seq) == 0)
        try world.server.start()
        world.commits.happened()
        #expect(users.withState(\.history.log.seq) == 1)
    }
}
