// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistLoading
import Synchronization

/// What a loader adds to a fetch: joining one, beginning and ending one, and giving one up. Processor time, since a machine that
/// does something else meanwhile is not to be seen in it.
struct Loads: Benchmark {
    static let name = "loads"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(50_000)
        var (joins, cancels, loads): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0...effort.rounds(15) {
            let endless = Loader<String, Int> { _ in
                try await Task.sleep(for: .seconds(3_600))
                return Fetched(0)
            }
            var tickets = [endless.subscribe("one") { _ in }]
            tickets.reserveCapacity(count)
            let keys = (0..<count).map { "\(round) \($0)" }
            let join = await Gauge.cpu.seconds {
                for _ in 1..<count { tickets.append(endless.subscribe("one") { _ in }) }
            }
            // Six are under way from here on, so that the others wait.
            let busy = keys.prefix(6).map { endless.subscribe("busy \($0)") { _ in } }
            let cancel = await Gauge.cpu.seconds { for key in keys { endless.subscribe(key) { _ in }.cancel() } }
            let load = await Gauge.cpu.seconds { await Self.loadAll(keys) }
            endless.removeAll()
            withExtendedLifetime((tickets, busy)) {}
            if round == 0 { continue }
            joins.append(join / Double(count))
            cancels.append(cancel / Double(count))
            loads.append(load / Double(count))
        }
        report(Figure("joining a fetch", .time(Samples(joins)), target: Thresholds.join))
        report(Figure("wanting a value and not wanting it", .time(Samples(cancels)), target: Thresholds.startAndCancel))
        report(Figure("a fetch that takes no time", .time(Samples(loads)), target: Thresholds.load))
        report(try hitsWhileReading(in: folder))
    }

    private static func loadAll(_ keys: [String]) async {
        let loader = Loader<String, Int>(limits: LoaderLimits(memory: MemoryLimits(count: keys.count))) { _ in
            Fetched(1)
        }
        let left = Countdown(keys.count)
        await withCheckedContinuation { continuation in
            left.whenOver { continuation.resume() }
            for key in keys {
                left.keep(loader.subscribe(key) { if case .value = $0 { left.down() } })
            }
        }
    }

    private func hitsWhileReading(in folder: ScratchFolder) throws -> Figure {
        let cache = DiskCache(folder: folder.url.appending(path: "pictures"))
        let bytes = [UInt8](repeating: 7, count: 50_000)
        for number in 0..<300 { cache.store(DiskEntry(bytes: bytes, storedAt: Date()), for: "\(number)") }
        let tier = DiskTier<String, Int>(cache, name: { $0 }, decode: { $0.count })
        var times: [Double] = []
        for _ in 0..<effort.rounds(30) {
            let loader = Loader<String, Int>(disk: tier) { _ in Fetched(0) }
            loader.store(1, for: "here")
            let tickets = (0..<300).map { loader.subscribe("\($0)") { _ in } }
            for _ in 0..<100 {
                let start = ContinuousClock.now
                precondition(loader.cached("here") == 1)
                times.append((ContinuousClock.now - start) / .seconds(1))
            }
            withExtendedLifetime(tickets) {}
        }
        let slowest = Samples([Samples(times).p99])
        return Figure(
            "a value in memory while 300 wait for the disk, p99", .time(slowest), target: Thresholds.hitWhileReading)
    }
}

private final class Countdown: Sendable {
    private let state: Mutex<(left: Int, tickets: [Ticket], isOver: (@Sendable () -> Void)?)>

    init(_ count: Int) { state = Mutex((count, [], nil)) }

    func whenOver(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.isOver = work } }
    func keep(_ ticket: Ticket) { state.withLock { $0.tickets.append(ticket) } }

    func down() {
        let isOver = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.isOver : nil
        }
        isOver?()
    }
}
