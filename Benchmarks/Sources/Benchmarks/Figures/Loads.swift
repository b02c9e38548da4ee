// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistLoading
import Synchronization

/// The overhead of a loader, in CPU time, which other work on the machine does not affect.
struct Loads: Benchmark {
    static let name = "loads"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        for threads in [1, 2] {
            let keys = (0..<threads).map { thread in (0..<effort.rows(50_000)).map { "\(thread) \($0)" } }
            func figure(_ name: String, _ target: Target? = nil, _ once: ([[String]]) async -> Double) async -> Figure {
                var times: [Double] = []
                for round in 0...effort.rounds(15) {
                    let time = await once(keys) / Double(threads * keys[0].count)
                    if round > 0 { times.append(time) }
                }
                return Figure(name + Self.suffix(threads), .time(Samples(times)), target: target)
            }
            report(await figure("joining a fetch", Thresholds.join, Self.join))
            report(await figure("wanting what has to wait, and not wanting it", nil, Self.wantInVain))
            let pair = try await Paired(rounds: effort.rounds(15)) {
                [await Self.beginAndCancel(keys) / Double(threads * keys[0].count)]
            } rival: {
                [await Self.beginAndCancelTasks(keys) / Double(threads * keys[0].count)]
            }
            let name = "beginning a fetch and giving it up" + Self.suffix(threads)
            report(Figure(name, pair, rival: "a task, begun and cancelled", target: Thresholds.startAndCancel))
            report(await figure("a fetch that takes no time", Thresholds.load, Self.loadAll))
        }
        report(try hitsWhileReading(in: folder))
    }

    private static func suffix(_ threads: Int) -> String { threads == 1 ? "" : ", two threads at once" }

    private static func forEach(_ keys: [[String]], _ work: @Sendable (String) -> Void) {
        DispatchQueue.concurrentPerform(iterations: keys.count) { thread in
            for key in keys[thread] { work(key) }
        }
    }

    private static func endless() -> Loader<String, Int> {
        Loader { _ in
            try await Task.sleep(for: .seconds(3_600))
            return Fetched(0)
        }
    }

    private static func join(_ keys: [[String]]) async -> Double {
        let loader = endless()
        let first = loader.subscribe("one") { _ in }
        let tickets = keys.map { _ in Kept() }
        let time = await Gauge.cpu.seconds {
            DispatchQueue.concurrentPerform(iterations: keys.count) { thread in
                tickets[thread].keep(keys[thread].map { _ in loader.subscribe("one") { _ in } })
            }
        }
        withExtendedLifetime((first, tickets)) { loader.removeAll() }
        return time
    }

    /// All slots are taken, so no fetch starts.
    private static func wantInVain(_ keys: [[String]]) async -> Double {
        let loader = endless()
        let busy = (0..<6).map { loader.subscribe("busy \($0)") { _ in } }
        let time = await Gauge.cpu.seconds { forEach(keys) { loader.subscribe($0) { _ in }.cancel() } }
        withExtendedLifetime(busy) { loader.removeAll() }
        return time
    }

    /// Includes the end of all cancelled tasks.
    private static func beginAndCancel(_ keys: [[String]]) async -> Double {
        let count = keys.count * keys[0].count
        let left = Countdown(count)
        let limits = LoaderLimits(fetches: count, unseenFetches: count, linger: .zero)
        let loader = Loader<String, Int>(limits: limits) { _ in
            left.down()
            throw CancellationError()
        }
        return await Gauge.cpu.seconds {
            await left.whenOver { forEach(keys) { loader.subscribe($0) { _ in }.cancel() } }
        }
    }

    private static func beginAndCancelTasks(_ keys: [[String]]) async -> Double {
        let left = Countdown(keys.count * keys[0].count)
        return await Gauge.cpu.seconds {
            await left.whenOver { forEach(keys) { _ in Task { left.down() }.cancel() } }
        }
    }

    private static func loadAll(_ keys: [[String]]) async -> Double {
        let count = keys.count * keys[0].count
        let loader = Loader<String, Int>(limits: LoaderLimits(memory: MemoryLimits(count: count))) { _ in Fetched(1) }
        let (left, tickets) = (Countdown(count), keys.map { _ in Kept() })
        let time = await Gauge.cpu.seconds {
            await left.whenOver {
                DispatchQueue.concurrentPerform(iterations: keys.count) { thread in
                    tickets[thread].keep(
                        keys[thread].map { loader.subscribe($0) { if case .value = $0 { left.down() } } })
                }
            }
        }
        withExtendedLifetime(tickets) {}
        return time
    }

    private func hitsWhileReading(in folder: ScratchFolder) throws -> Figure {
        let cache = DiskCache(at: folder.url.appending(path: "pictures"))
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

private final class Kept: Sendable {
    private let tickets = Mutex<[LoadSubscription]>([])

    func keep(_ new: [LoadSubscription]) { tickets.withLock { $0 = new } }
}

private final class Countdown: Sendable {
    private let state: Mutex<(left: Int, isOver: CheckedContinuation<Void, Never>?)>

    init(_ count: Int) { state = Mutex((count, nil)) }

    func whenOver(_ begin: () -> Void) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.isOver = continuation }
            begin()
        }
    }

    func down() {
        let isOver = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.isOver : nil
        }
        isOver?.resume()
    }
}
