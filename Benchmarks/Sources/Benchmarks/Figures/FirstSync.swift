// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistWire

/// The first sync of a new device, from the bytes of the server's answers until all rows are in an indexed table.
struct FirstSync: Benchmark {
    static let name = "first-sync"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(100_000)
        // A snapshot sends rows in the order of their ids.
        let pages = Todo.make(count).sorted { $0.id.uuidString < $1.id.uuidString }.parts(of: RowSync.Limit.pageRows)
        // Memory is measured first, because later the process could reuse what earlier rounds have freed.
        if let extra = try await extraMemory(pages, in: folder) {
            report(Figure("memory beyond the answers' bytes", .size(bytes: extra), target: Thresholds.firstSyncMemory))
        }
        let rounds = effort.rounds(5)

        let inserting = try await Paired(
            rounds: rounds, subject: { [try await receive(pages, in: folder)] },
            rival: { [try await insert(pages, in: folder)] })
        report(
            Figure(
                "first sync of \(count) rows", inserting, rows: count, rival: "SQLite alone",
                target: Thresholds.firstSync))
        let bytes = PreparedServer(received: pages).pageBytes
        let decoding = try await Paired(
            rounds: rounds, subject: { [try await receive(pages, in: folder)] }, rival: { [try await read(bytes)] })
        report(Figure("the same beside its decoding", decoding, rows: count, rival: "decoding alone"))
    }

    /// The full client: session, decoding, engine, store.
    private func receive(_ pages: [[Todo]], in folder: ScratchFolder) async throws -> Double {
        let server = PreparedServer(received: pages)
        let store = try folder.store(isIndexed: true)
        return try await effort.gauge.seconds { try await syncing(store, with: server) { await server.isDrained() } }
    }

    private func extraMemory(_ pages: [[Todo]], in folder: ScratchFolder) async throws -> Double? {
        let server = PreparedServer(received: pages)
        let store = try folder.store(isIndexed: true)
        guard let before = Memory.forgetPeak() else { return nil }
        try await syncing(store, with: server) { await server.isDrained() }
        return Memory.peak.map { $0 - before }
    }

    /// A baseline: one prepared statement, and a transaction for each page.
    private func insert(_ pages: [[Todo]], in folder: ScratchFolder) async throws -> Double {
        let plain = try folder.plain(isIndexed: true)
        return try await effort.gauge.seconds {
            for page in pages { try await plain.write { try BareInsert($0).run(page) } }
        }
    }

    /// A baseline: decodes the rows and discards them.
    private func read(_ pages: [[UInt8]]) async throws -> Double {
        try await effort.gauge.seconds {
            for bytes in pages {
                let response = Response(json: try JSON(parsing: bytes))
                let part = response.flatMap { SnapshotAnswer(json: $0.methodResponses[0].arguments) }
                precondition(part?.list.isEmpty == false, "a part that cannot be read")
            }
        }
    }
}
