// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistTesting
import OptimistWire
import TestForm
import Testing

@testable import OptimistServer

/// A full disk.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct DiskTroubleTests {
    private let file: StoreFile

    init() throws { file = try StoreFile() }

    private func limit(_ server: StoreFile.Opened, room pages: Int?) throws {
        try server.database.pool.writeWithoutTransaction { db in
            let count = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages.map { count + $0 } ?? 1_000_000)")
        }
    }

    @Test func `V4: on a full disk no write is partial, reads still work, and writes resume when there is space`()
        async throws
    {
        let server = try file.open(epoch: "e1")
        try await server.put(1, "a", push: 1)
        try limit(server, room: 2)
        let large = String(repeating: "x", count: 60_000)
        for attempt in 0..<3 {
            let error = await #expect(throws: DatabaseError.self) { try await server.put(2, large, push: 2) }
            #expect(error?.resultCode == .SQLITE_FULL, "attempt \(attempt)")
        }
        let page = try await server.pull("e1.0")
        #expect(page["newState"] == "e1.1")
        #expect(page["list"]?.array?.count == 1)
        try limit(server, room: nil)
        try await server.put(2, large, push: 2)
        #expect(try await server.pull("e1.1")["list"]?.array?.count == 1)
    }

    @Test func `V4: if one push in a shared commit finds the disk full, all fail with that error`() async throws {
        let server = try file.open(epoch: "e1")
        try limit(server, room: 4)
        let gate = await server.database.pool.hold()
        let errors = await withTaskGroup(of: (Int, ResultCode?).self, returning: [Int: ResultCode?].self) { group in
            for number in 0..<4 {
                group.addTask {
                    let content = String(repeating: "x", count: number == 2 ? 60_000 : 10)
                    do {
                        try await server.put(number, content, push: 1)
                        return (number, nil)
                    } catch { return (number, (error as? DatabaseError)?.resultCode) }
                }
                while server.commits.waitingCount <= number { await Task.yield() }
            }
            gate.signal()
            return await group.reduce(into: [:]) { $0[$1.0] = .some($1.1) }
        }
        // The last push did not share the commit: the transaction had ended.
        let expected: [Int: ResultCode?] = [0: .SQLITE_FULL, 1: .SQLITE_FULL, 2: .SQLITE_FULL, 3: nil]
        #expect(errors == expected)
        #expect(try await server.pull("e1.0")["list"]?.array?.map { $0["id"]?.string } == [RowKey.id(3)])
    }

    @Test(arguments: [DiskFault.ioError, .full], TestForm.of(short: [1, 4, 8, 13, 19], full: Array(0..<24)))
    func `V4: after any disk failure, answered rows are complete, and the next write works`(
        fault: DiskFault, skipping: Int
    ) async throws {
        let mount = SimulatedDisk(seed: 1).mount()
        let server = try StoreFile.open(mount.url("optimist.sqlite").path, epoch: "e1")
        /// Pushes two rows.
        func put(_ number: Int) async throws {
            let rows = [2 * number, 2 * number + 1].map { (RowKey.id($0), ["content": "a"] as JSON) }
            _ = try await server.call("todo/set", ["create": .object(JSONObject(rows.map { ($0.0, $0.1) }))], push: 1)
        }
        try await put(0)
        mount.fail(fault, on: [.read, .write, .truncate, .sync], skipping: skipping, times: 2)
        var answered: Set = [0]
        for number in 1...9 {
            do {
                try await put(number)
                answered.insert(number)
            } catch let error as DatabaseError {
                #expect([.SQLITE_IOERR, .SQLITE_FULL].contains(error.resultCode), "\(error)")
            }
        }
        mount.heal()
        try await put(10)
        answered.insert(10)
        let ids = Set(try await server.pull("e1.0")["list"]?.array?.compactMap { $0["id"]?.string } ?? [])
        for number in 0...10 {
            let isThere = [2 * number, 2 * number + 1].map { ids.contains(RowKey.id($0)) }
            #expect(isThere[0] == isThere[1])
            if answered.contains(number) { #expect(isThere[0], "push \(number) was answered") }
        }
        try server.database.pool.close()
    }

    @Test(arguments: [(DiskFault.full, "is full"), (.ioError, "ulimit")])
    func `V4: a start on a full or failing disk reports the problem and does no harm`(
        fault: DiskFault, word: String
    ) throws {
        let directory = URL(filePath: "/data")
        for skipping in 0..<12 {
            let mount = SimulatedDisk(seed: 1).mount()
            let path = mount.url("optimist.sqlite").path
            try StoreFile.open(path, epoch: "e1").database.pool.close()
            mount.fail(fault, on: [.write, .truncate, .sync], skipping: skipping, times: .max)
            do {
                try OptimistError.explainingDisk(of: directory) {
                    let database = try ServerDatabase(path: path, epoch: "e2")
                    try SchemaRegister.accept(.planner, in: database.pool)
                }
                #expect(skipping > 0, "nothing was written")
            } catch let error as OptimistError {
                #expect(error.code == .diskTrouble && error.message.contains(word), "\(error)")
                #expect(error.message.contains("/data"))
            }
            mount.heal()
            try StoreFile.open(path, epoch: "e3").database.pool.close()
        }
    }

    @Test func `the client's error names the disk problem and when to retry`() {
        let full = DatabaseError(resultCode: .SQLITE_FULL)
        #expect(full.retryAfterSeconds == 30 && full.detail.contains("full"))
        let broken = DatabaseError(resultCode: .SQLITE_IOERR_WRITE)
        #expect(broken.retryAfterSeconds == 5 && broken.detail.contains("failing"))
        #expect(DatabaseError(resultCode: .SQLITE_BUSY).detail.contains("not available"))
    }
}
