// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistTesting
import TestForm
import Testing

@Suite("The simulated disk", .timeLimit(.minutes(20)))
struct DiskTests {
    /// The number of moments at which the power fails.
    private static let points = TestForm.of(short: 40, full: 200)

    /// Opens a pool with the store's settings.
    private func pool(_ mount: DiskMount, synchronous: String = "FULL") throws -> DatabasePool {
        let pool = try DatabasePool(path: mount.url("a.sqlite").path)
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = \(synchronous); PRAGMA wal_autocheckpoint = 20")
        }
        try pool.write { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS t(n INTEGER PRIMARY KEY, text TEXT)")
        }
        return pool
    }

    private func add(_ number: Int, to pool: DatabasePool) throws {
        try pool.write { db in
            let text = String(repeating: "\(number) ", count: 100)
            try db.execute(sql: "INSERT INTO t VALUES (?, ?)", arguments: [number, text])
        }
    }

    /// Opens the file in a new process, and returns whether the file is sound, and the numbers in it.
    private func inspect(_ disk: SimulatedDisk) throws -> (isSound: Bool, numbers: [Int]) {
        let mount = disk.mount()
        defer { mount.kill() }
        return try DatabaseQueue(path: mount.url("a.sqlite").path).read { db in
            let isSound = try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok"
            guard try db.tableExists("t") else { return (isSound, []) }
            return (isSound, try Int.fetchAll(db, sql: "SELECT n FROM t ORDER BY n"))
        }
    }

    @Test func `a pool writes, reads and reopens`() throws {
        let disk = SimulatedDisk(seed: 1)
        let mount = disk.mount()
        let pool = try pool(mount)
        for number in 1...50 { try add(number, to: pool) }
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 50)
        #expect(mount.count(of: .sync) >= 50)
        try pool.close()
        #expect(try inspect(disk).numbers == Array(1...50))
    }

    @Test func `two processes see each other's writes and wait for each other's locks`() throws {
        let disk = SimulatedDisk(seed: 2)
        let (first, second) = (try pool(disk.mount()), try pool(disk.mount()))
        try add(1, to: first)
        try add(2, to: second)
        #expect(try first.read { try Int.fetchAll($0, sql: "SELECT n FROM t") } == [1, 2])
        try first.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            #expect(throws: DatabaseError.self) { try add(3, to: second) }
            try db.execute(sql: "ROLLBACK")
        }
        try add(4, to: second)
        #expect(try first.read { try Int.fetchAll($0, sql: "SELECT n FROM t") } == [1, 2, 4])
    }

    @Test func `a process that dies at any change leaves a sound file with every completed write`() throws {
        var hasCompleted = false
        var (deaths, change) = (0, 0)
        while !hasCompleted {
            change += TestForm.of(short: 5, full: 1)
            let disk = SimulatedDisk(seed: UInt64(change))
            let mount = disk.mount()
            mount.crash(atChange: change)
            var written: [Int] = []
            do {
                let pool = try pool(mount)
                for number in 1...40 {
                    try add(number, to: pool)
                    written.append(number)
                }
            } catch { deaths += 1 }
            hasCompleted = written.count == 40
            let found = try inspect(disk)
            #expect(found.isSound)
            // The last write may be complete although it did not return.
            #expect(found.numbers.starts(with: written) && found.numbers.count <= written.count + 1)
        }
        #expect(deaths > TestForm.of(short: 20, full: 100))
    }

    /// The number of power losses that lost acknowledged rows.
    private func losses(synchronous: String) throws -> Int {
        var losses = 0
        for point in 1...Self.points {
            let disk = SimulatedDisk(seed: UInt64(point))
            let mount = disk.mount()
            mount.onDeath { disk.losePower() }
            var written: [Int] = []
            do {
                let pool = try pool(mount, synchronous: synchronous)
                mount.crash(atChange: point)
                for number in 1...200 {
                    try add(number, to: pool)
                    written.append(number)
                }
            } catch {}
            let found = try inspect(disk)
            #expect(found.isSound)
            if !found.numbers.starts(with: written) { losses += 1 }
        }
        return losses
    }

    @Test func `W1 with synchronous FULL, no power loss takes an acknowledged row`() throws {
        #expect(try losses(synchronous: "FULL") == 0)
    }

    @Test func `with synchronous NORMAL, power losses do take rows, so the test above can fail`() throws {
        #expect(try losses(synchronous: "NORMAL") > Self.points / 2)
    }

    @Test func `faults affect the chosen operations and end as configured`() throws {
        let disk = SimulatedDisk(seed: 3)
        let mount = disk.mount()
        let pool = try pool(mount)
        func code(_ work: () throws -> Void) -> ResultCode? {
            do { try work() } catch { return (error as? DatabaseError)?.resultCode }
            return nil
        }
        mount.fail(.ioError, on: [.sync])
        #expect(code { try add(1, to: pool) } == .SQLITE_IOERR)
        mount.fail(.full, skipping: 1)
        #expect(code { try add(2, to: pool) } == .SQLITE_FULL)
        mount.fail(.busy, times: .max)
        #expect(code { try add(3, to: pool) } == .SQLITE_BUSY)
        mount.heal()
        disk.capacityBytes = disk.usedBytes
        #expect(code { for number in 4...90 { try add(number, to: pool) } } == .SQLITE_FULL)
        disk.capacityBytes = nil
        try add(100, to: pool)
        #expect(try inspect(disk).isSound)
    }

    @Test func `a copy of a file can be restored`() throws {
        let disk = SimulatedDisk(seed: 4)
        let pool = try pool(disk.mount())
        try add(1, to: pool)
        let copy = disk.copy("a.sqlite")
        try add(2, to: pool)
        disk.losePower()
        disk.remove("a.sqlite")
        disk.restore(copy)
        #expect(try inspect(disk).numbers == [1])
    }
}
