// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// An import of many rows in one transaction, and an update of all of them when they are synced.
struct BulkWrite: Benchmark {
    static let name = "bulk-write"
    let effort: Effort

    private typealias Change = @Sendable ([Todo], Database) throws -> Void

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        try await insert("records", in: folder, Thresholds.bulkRecords, report) { try $0.insert($1) }
        try await insert("SQL", in: folder, Thresholds.bulkSQL, report) { try $0.insertBySQL($1) }
        try await compareSizes(in: folder, report)
        try await update("records", in: folder, Thresholds.bulkRecords, report) { try $0.raise($1) }
        try await update("SQL", in: folder, Thresholds.bulkSQL, report) { try $0.raiseBySQL($1) }
    }

    private var count: Int { effort.rows(10_000) }

    private func insert(
        _ way: String, in folder: ScratchFolder, _ target: Target, _ report: (Figure) -> Void,
        _ change: @escaping Change
    ) async throws {
        let todos = Todo.make(count)
        let pair = try await Paired(
            rounds: effort.rounds(15),
            subject: {
                let store = try folder.store()
                return [try await effort.gauge.seconds { try await store.write { try change(todos, $0) } }]
            },
            rival: {
                let plain = try folder.plain()
                return [try await effort.gauge.seconds { try await plain.write { try change(todos, $0) } }]
            })
        report(Figure("insert \(count) rows, \(way)", pair, rival: "GRDB", target: target))
    }

    private func compareSizes(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let todos = Todo.make(count)
        let (ours, theirs) = (folder.file(), folder.file())
        try await folder.store(at: ours).write { try todos.insert($0) }
        try await folder.plain(at: theirs).write { try todos.insert($0) }
        let sizes = (Double(try folder.checkpoint(ours)), Double(try folder.checkpoint(theirs)))
        var figure = Figure("file with \(count) pending rows", .size(bytes: sizes.0), target: Thresholds.fileSize)
        figure.rival = ("GRDB", .size(bytes: sizes.1))
        figure.ratio = sizes.0 / sizes.1
        report(figure)
    }

    /// The rows are synced, so the store must keep the server's values.
    private func update(
        _ way: String, in folder: ScratchFolder, _ target: Target, _ report: (Figure) -> Void,
        _ change: @escaping Change
    ) async throws {
        let todos = Todo.make(count)
        let synced = try await syncedFile(of: todos, in: folder)
        let plainFile = folder.file()
        try await folder.plain(at: plainFile).write { try todos.insert($0) }
        try folder.checkpoint(plainFile)
        let pair = try await Paired(
            rounds: effort.rounds(15),
            subject: {
                let store = try folder.store(at: try folder.copy(of: synced))
                return [try await effort.gauge.seconds { try await store.write { try change(todos, $0) } }]
            },
            rival: {
                let plain = try folder.plain(at: try folder.copy(of: plainFile))
                return [try await effort.gauge.seconds { try await plain.write { try change(todos, $0) } }]
            })
        report(Figure("update a column of \(count) synced rows, \(way)", pair, rival: "GRDB", target: target))
    }

    private func syncedFile(of todos: [Todo], in folder: ScratchFolder) async throws -> URL {
        let (file, server) = (folder.file(), PreparedServer(received: [todos]))
        try await syncing(try folder.store(at: file), with: server) { await server.isDrained() }
        try folder.checkpoint(file)
        return file
    }
}
