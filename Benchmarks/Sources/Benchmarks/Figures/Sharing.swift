// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
@_spi(Internals) import OptimistWire

/// Rows in spaces, compared with the same rows in the person's own account. The server's decisions run in this process, on a
/// store in memory.
struct Sharing: Benchmark {
    static let name = "sharing"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        try await localWrite(in: folder, report)
        try await push(in: folder, report)
        try await purge(in: folder, report)
        try await firstSync(in: folder, report)
        try await move(in: folder, report)
        try await compareSizes(in: folder, report)
        sessionSize(report)
    }

    // MARK: - Writing

    private func localWrite(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let (shared, own) = (try SharedApp.store(in: folder), try SharedApp.store(in: folder, isShared: false))
        let space = try await SharedApp.spaces(1, on: shared)[0]
        let (list, ownList) = (SharedList(space: space), OwnList())
        try await shared.write { try list.insert($0) }
        try await own.write { try ownList.insert($0) }
        let writes = effort.rows(200)
        let pair = try await Paired(
            rounds: effort.rounds(40),
            subject: {
                try await times(writes) { try await shared.write { try SharedTodo(listID: list.id).insert($0) } }
            },
            rival: {
                try await times(writes) { try await own.write { try OwnTodo(listID: ownList.id).insert($0) } }
            })
        report(
            Figure(
                "local write into a space, one row, NORMAL", pair, rival: "the app without spaces",
                target: Thresholds.sharedWrite))
    }

    private func times(_ count: Int, _ write: () async throws -> Void) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count { times.append(try await effort.gauge.seconds(write)) }
        return times
    }

    // MARK: - Sending

    private func push(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(8_000)
        for (spaces, target) in [(8, Thresholds.pushToSpaces), (100, Thresholds.pushToManySpaces)] {
            let pair = try await Paired(
                rounds: effort.rounds(5), subject: { [try await push(count, to: spaces, in: folder)] },
                rival: { [try await push(count, to: 0, in: folder)] })
            report(
                Figure(
                    "push of \(count) rows to \(spaces) spaces", pair, rows: count, rival: "one account",
                    target: target))
        }
    }

    private func push(_ count: Int, to spaces: Int, in folder: ScratchFolder) async throws -> Double {
        let (server, store) = (SharedApp.server(), try SharedApp.store(in: folder))
        let engine = SharedApp.engine(store, server, as: "ann")
        let made = try await SharedApp.spaces(spaces, on: store)
        try await engine.settle(store)
        let lists = max(spaces, 8)
        _ = try await SharedApp.fill(
            store, lists: lists, todos: count / lists - 1, in: made.isEmpty ? [nil] : made.map { $0 })
        return try await effort.gauge.seconds { try await engine.settle(store) }
    }

    private func move(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(5_000)
        var times: [Double] = []
        for _ in 0..<effort.rounds(5) {
            let (server, store) = (SharedApp.server(), try SharedApp.store(in: folder))
            let engine = SharedApp.engine(store, server, as: "ann")
            let space = try await SharedApp.spaces(1, on: store)[0]
            let list = try await SharedApp.fill(store, lists: 1, todos: count - 1, in: [nil])[0]
            try await engine.settle(store)
            times.append(
                try await effort.gauge.seconds {
                    try await store.write { db in
                        try db.execute(sql: "UPDATE list SET space = ? WHERE id = ?", arguments: [space, list])
                    }
                    try await engine.settle(store)
                })
        }
        report(
            Figure(
                "move of a list with \(count) rows, from the write to the verdict", .time(Samples(times)),
                target: Thresholds.move))
    }

    // MARK: - Receiving

    private func firstSync(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let (spaces, rows) = (effort.rows(1_000), 10)
        let (server, own) = (SharedApp.server(), SharedApp.server())
        try await prepare(server, lists: spaces, todos: rows - 1, spaces: spaces, in: folder)
        try await prepare(own, lists: spaces, todos: rows - 1, spaces: 0, in: folder)
        let pair = try await Paired(
            rounds: effort.rounds(3), subject: { [try await receive(from: server, in: folder)] },
            rival: { [try await receive(from: own, in: folder)] })
        report(
            Figure(
                "first sync of \(spaces) spaces of \(rows) rows", pair, rival: "one account",
                target: Thresholds.firstSyncOfSpaces))
    }

    private func prepare(
        _ server: InMemoryServer, lists: Int, todos: Int, spaces: Int, in folder: ScratchFolder
    ) async throws {
        let store = try SharedApp.store(in: folder)
        let made = try await SharedApp.spaces(spaces, on: store)
        _ = try await SharedApp.fill(store, lists: lists, todos: todos, in: made.isEmpty ? [nil] : made.map { $0 })
        try await SharedApp.engine(store, server, as: "ann").settle(store)
    }

    private func receive(from server: InMemoryServer, in folder: ScratchFolder) async throws -> Double {
        let store = try SharedApp.store(in: folder)
        let engine = SharedApp.engine(store, server, as: "ann")
        return try await effort.gauge.seconds { _ = try await engine.syncOnce(timeout: .seconds(600)) }
    }

    // MARK: - Leaving

    /// The time until the rows are gone after the device has heard of the end, and the longest read during it.
    ///
    /// The reader pauses by the real clock, because the figure is a real time: without pauses it would take the
    /// processor from the purge.
    private func purge(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(100_000)
        var (purges, reads): ([Double], [Double]) = ([], [])
        for _ in 0..<effort.rounds(3) {
            let (server, store) = (SharedApp.server(), try SharedApp.store(in: folder))
            let other = try SharedApp.store(in: folder)
            let (engine, otherEngine) = (
                SharedApp.engine(store, server, as: "ann"), SharedApp.engine(other, server, as: "ann")
            )
            let space = try await SharedApp.spaces(1, on: store)[0]
            _ = try await SharedApp.fill(store, lists: 100, todos: count / 100 - 1, in: [space])
            try await engine.settle(store)
            _ = try await otherEngine.syncOnce(timeout: .seconds(600))
            try await other.deleteSpace(space)
            try await otherEngine.settle(other)
            let reader = Task {
                var longest = 0.0
                while !Task.isCancelled {
                    let start = ContinuousClock.now
                    _ = try await store.read { try Int.fetchOne($0, sql: "SELECT priority FROM todo LIMIT 1") }
                    longest = max(longest, (ContinuousClock.now - start) / .seconds(1))
                    try? await Task.sleep(for: .milliseconds(5))
                }
                return longest
            }
            purges.append(try await effort.gauge.seconds { _ = try await engine.syncOnce(timeout: .seconds(600)) })
            reader.cancel()
            reads.append(try await reader.value)
            let left = try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM todo") ?? 0 }
            precondition(left == 0, "the purge leaves \(left) rows")
        }
        report(Figure("purge of \(count) rows", .time(Samples(purges)), target: Thresholds.purge))
        report(Figure("the longest read during the purge", .time(Samples(reads)), target: Thresholds.readMeanwhile))
    }

    // MARK: - Sizes

    /// Compares the growth of two files, because an app with spaces has more tables.
    private func compareSizes(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(10_000)
        var perRow: [Double] = []
        for isShared in [true, false] {
            let small = try await size(of: count, isShared: isShared, in: folder)
            let large = try await size(of: count * 3, isShared: isShared, in: folder)
            perRow.append(Double(large - small) / Double(count * 2))
        }
        report(
            Figure(
                "bytes per synced row in a space, beyond the app without spaces", .count(perRow[0] - perRow[1]),
                target: Thresholds.spaceBytesPerRow))
    }

    private func size(of count: Int, isShared: Bool, in folder: ScratchFolder) async throws -> Int64 {
        let file = folder.file()
        let store = try SharedApp.store(in: folder, at: file, isShared: isShared)
        let spaces = isShared ? try await SharedApp.spaces(1, on: store) : []
        _ = try await SharedApp.fill(store, lists: 1, todos: count - 1, in: spaces.isEmpty ? [nil] : spaces.map { $0 })
        try await SharedApp.engine(store, SharedApp.server(isShared: isShared), as: "ann").settle(store)
        return Int64(try folder.checkpoint(file))
    }

    private func sessionSize(_ report: (Figure) -> Void) {
        var session = SessionResource(
            username: "ann", apiURL: "/jmap/", eventSourceURL: "/jmap/eventsource", state: "e1-1", epoch: "e1",
            initialState: "e1.0", accounts: ["ann": Schema(id: "lists", types: [:])], primaryAccount: "ann")
        for _ in 0..<1_000 {
            guard let account = SpaceAccount.id(ofSpace: UUID().uuidString.lowercased()) else { continue }
            session.spaces[account] = SessionResource.Space(name: "Groceries", isReadOnly: false)
        }
        report(
            Figure(
                "session resource with 1,000 spaces", .size(bytes: Double(session.json.bytes.count)),
                target: Thresholds.sessionOfSpaces))
    }
}
