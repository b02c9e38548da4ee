// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession

/// The overhead of a session on a transport that answers immediately.
struct SessionOverhead: Benchmark {
    static let name = "session-overhead"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let server = TokenServer { _, _ in .ok }
        let session = server.session()
        defer { server.letGo() }
        let bare = TransportRequest(
            head: HTTPRequest(
                method: .get, scheme: "http", authority: "127.0.0.1:9", path: "/rows",
                headerFields: [.authorization: "Bearer access-1"]))
        let viaSession: @Sendable () async throws -> Void = {
            _ = try await session.send(SessionRequest("/rows"))
        }
        let viaTransport: @Sendable () async throws -> Void = {
            _ = try await server.send(bare).body.collect(upTo: 1 << 20)
        }
        let count = effort.rows(2_000)
        try await alone(count, viaSession, viaTransport, report)
        for width in [8, 64] { try await together(width, count, viaSession, viaTransport, report) }
        try await memory(viaSession, report)
    }

    private func alone(
        _ count: Int, _ subject: @Sendable () async throws -> Void, _ rival: @Sendable () async throws -> Void,
        _ report: (Figure) -> Void
    ) async throws {
        func times(_ work: () async throws -> Void) async throws -> [Double] {
            var times: [Double] = []
            for _ in 0..<count { times.append(try await Gauge.wall.seconds(work)) }
            return times
        }
        var differences: [Double] = []
        for _ in 0...effort.rounds(15) {
            differences.append(Samples(try await times(subject)).median - Samples(try await times(rival)).median)
        }
        report(
            Figure(
                "what a session adds to a request, p50", .time(Samples(Array(differences.dropFirst()))),
                target: Thresholds.overhead))
    }

    private func together(
        _ width: Int, _ count: Int, _ subject: @escaping @Sendable () async throws -> Void,
        _ rival: @escaping @Sendable () async throws -> Void, _ report: (Figure) -> Void
    ) async throws {
        func seconds(_ work: @escaping @Sendable () async throws -> Void) async throws -> Double {
            let all = try await Gauge.cpu.seconds {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<width { group.addTask { for _ in 0..<count / 8 { try await work() } } }
                    try await group.waitForAll()
                }
            }
            return all / Double(width * (count / 8))
        }
        var differences: [Double] = []
        for _ in 0...effort.rounds(15) { differences.append(try await seconds(subject) - (try await seconds(rival))) }
        report(
            Figure(
                "the processors' time for it, \(width) at a time", .time(Samples(Array(differences.dropFirst()))),
                target: Thresholds.overheadBusy))
    }

    private func memory(_ work: @Sendable () async throws -> Void, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(40_000)
        for _ in 0..<count / 4 { try await work() }
        guard let before = Memory.forgetPeak() else { return }
        for _ in 0..<count { try await work() }
        guard let peak = Memory.peak else { return }
        report(
            Figure(
                "memory that \(grouped(Double(count))) requests take", .size(bytes: peak - before),
                target: Thresholds.sessionMemory))
    }
}
