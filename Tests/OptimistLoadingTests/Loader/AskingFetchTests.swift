// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistLoading

/// A loader whose fetches of keys such as "a<b,c" ask it for the keys after "<", concurrently.
private final class Nest: Sendable {
    let source = Source()
    let loader: Loader<String, Int>

    init(_ limits: LoaderLimits) {
        let (source, made) = (source, Box())
        loader = Loader(limits: limits) { fetch in
            let own = try await source.fetch(fetch)
            guard let loader = made.loader, let inner = fetch.key.firstIndex(of: "<") else { return own }
            let keys = fetch.key[fetch.key.index(after: inner)...].split(separator: ",").map(String.init)
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for key in keys { group.addTask { try await loader.value(for: key, priority: .prefetch) } }
                return try await group.reduce(0, +)
            }
            return Fetched(sum)
        }
        made.loader = loader
    }

    /// Waits until the source's fetches of these keys begin, and answers them.
    func pass(_ keys: Set<String>) async {
        #expect(Set(await source.begin(keys.count)) == keys)
        for key in keys { source.answer(key, 1) }
    }
}

private final class Box: Sendable {
    private let value = Mutex<Loader<String, Int>?>(nil)
    var loader: Loader<String, Int>? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct AskingFetchTests {
    @Test func `C8 fetches that ask their own loader finish even if they hold all slots`() async throws {
        let nest = Nest(LoaderLimits(fetches: 2, unseenFetches: 1))
        async let first = nest.loader.value(for: "x<p")
        async let second = nest.loader.value(for: "y<p,q,r")
        await nest.pass(["x<p", "y<p,q,r"])
        // Only two inner fetches begin, in the slots of the two outer fetches.
        let begun = await nest.source.begin(2)
        #expect(nest.loader.counts.fetches == 4)
        for key in begun { nest.source.answer(key, 1) }
        for key in await nest.source.begin(1) { nest.source.answer(key, 1) }
        #expect(try await first == 1)
        #expect(try await second == 3)
        #expect(nest.loader.counts.fetches == 5)
        #expect(nest.loader.inspect { $0.machine.lanes.allSatisfy { $0.suspended == 0 && $0.running == 0 } })
    }

    @Test func `C8 a waiting fetch lends its slot only to the fetch it waits for`() async throws {
        let nest = Nest(LoaderLimits(fetches: 1, unseenFetches: 1))
        async let outer = nest.loader.value(for: "x<p")
        #expect(await nest.source.begin() == ["x<p"])
        let other = Listener(nest.loader, "other")
        nest.source.answer("x<p", 1)
        await nest.pass(["p"])
        #expect(try await outer == 1)
        await nest.pass(["other"])
        #expect(await other.next() == "1 from source")
    }

    @Test func `C8 cancelling a waiting fetch leaves the slots as they were`() async throws {
        let nest = Nest(LoaderLimits(fetches: 1, unseenFetches: 1, linger: .zero))
        let outer = Task { try await nest.loader.value(for: "x<p") }
        await nest.pass(["x<p"])
        #expect(await nest.source.begin() == ["p"])
        outer.cancel()
        await #expect(throws: CancellationError.self) { try await outer.value }
        async let next = nest.loader.value(for: "y")
        await nest.pass(["y"])
        #expect(try await next == 1)
        while !nest.loader.inspect({ $0.machine.lanes.allSatisfy { $0.suspended == 0 && $0.running == 0 } }) {
            await Task.yield()
        }
    }

    @Test func `C4 fetches that wait for each other fail instead of hanging`() async throws {
        let source = Source()
        let made = Box()
        let loader = Loader<String, Int> { fetch in
            guard let loader = made.loader, fetch.key != "end" else { return try await source.fetch(fetch) }
            return Fetched(try await loader.value(for: fetch.key == "a" ? "b" : "a"))
        }
        made.loader = loader
        let error = await #expect(throws: OptimistError.self) { try await loader.value(for: "a") }
        #expect(error?.code == .fetchWaitsForItself)
    }
}
