// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct PrefetchWindowTests {
    @Test func `F8 a window fetches the nearest keys first, and drops keys that left it`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1", "2", "3", "4"])
        #expect(await desk.source.begin() == ["1"])
        window.setVisible(["4", "3", "5", "1"])
        var last = "1"
        for expected in ["4", "3", "5"] {
            desk.source.answer(last, 0)
            #expect(await desk.source.begin() == [expected])
            last = expected
        }
        #expect(desk.loader.counts.dropped == 1)
        withExtendedLifetime(window) {}
    }

    @Test func `C3 C8 a key that left a window frees its slot for nearer ones`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1", "2"])
        #expect(await desk.source.begin() == ["1"])
        window.setVisible(["2"])
        #expect(await desk.source.begin() == ["2"], "no time has passed")
        #expect(await desk.source.cancellation() == "1")
        withExtendedLifetime(window) {}
    }

    @Test func `C4 F8 a failed key is fetched again only when the window is shown again`() async throws {
        let desk = Desk()
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1", "2"])
        await desk.source.begin(2)
        desk.source.answer("1", .failure(Broken()))
        let other = Listener(desk.loader, "2")
        desk.source.answer("2", 2)
        _ = await other.next()
        await desk.settled { $0.machine.counts.failures == 1 }
        #expect(desk.source.begun.count == 2)
        window.setVisible(["1", "2"])
        #expect(await desk.source.begin() == ["1"])
        window.setVisible(["1", "2"])
        desk.source.answer("1", 1)
        let shown = Listener(desk.loader, "1")
        #expect(await shown.next()?.hasPrefix("1") == true)
        #expect(desk.source.begun.count == 3)
        #expect(desk.loader.inspect { $0.machine.holders.count } == 4)
        withExtendedLifetime((window, other, shown)) {}
    }

    @Test func `C4 F8 a failed refresh of an expired value is repeated when the window is shown again`() async throws {
        let desk = Desk()
        desk.loader.store(1, for: "1", validity: Validity(expiresAt: .distantPast))
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1"])
        await desk.source.begin()
        desk.source.answer("1", .failure(Broken()))
        await desk.settled { $0.machine.counts.failures == 1 }
        window.setVisible(["1"])
        #expect(await desk.source.begin() == ["1"])
        withExtendedLifetime(window) {}
    }

    @Test(arguments: ["remove", "removeAll", "trim"])
    func `F8 a nearby value that was removed is fetched again when the window is shown again`(how: String)
        async throws
    {
        let desk = Desk()
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1"])
        await desk.source.begin()
        desk.source.answer("1", 1)
        await desk.settled { $0.machine.hasValue(0) }
        window.setVisible(["1"])
        #expect(desk.source.begun.count == 1)
        switch how {
        case "remove": desk.loader.remove("1")
        case "removeAll": desk.loader.removeAll()
        default: desk.loader.trim(to: 0)
        }
        window.setVisible(["1"])
        #expect(await desk.source.begin() == ["1"])
        withExtendedLifetime(window) {}
    }

    @Test func `F8 a value too large for the memory is not fetched repeatedly`() async throws {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(costBytes: 0)))
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["1"])
        await desk.source.begin()
        desk.source.answer("1", 1)
        await desk.settled { $0.machine.flights.allSatisfy { $0 == nil } }
        window.setVisible(["1"])
        #expect(desk.loader.inspect { $0.machine.flights.allSatisfy { $0 == nil } })
        withExtendedLifetime(window) {}
    }

    @Test(arguments: [LoadPriority.prefetch, .soon])
    func `F8 a window fetches in its own order at any priority, and holds a repeated key once`(
        priority: LoadPriority
    ) async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1, linger: .zero))
        let window = PrefetchWindow(desk.loader, priority: priority)
        window.setVisible(["1", "2", "3", "2", "1"])
        #expect(desk.loader.inspect { $0.machine.holders.count } == 3)
        await desk.source.begin()
        window.setVisible(["3", "2", "3"])
        #expect(await desk.source.begin() == ["3"])
        window.setVisible([])
        #expect(desk.loader.inspect { $0.machine.holders.count } == 0)
    }

    @Test func `F8 of two concurrent calls the later one wins and leaves no ticket of the other`() async throws {
        let window = Mutex<PrefetchWindow<String, Int>?>(nil)
        // During the first call the loader asks for a group, and the test then makes the second call.
        let loader = Loader<String, Int>(group: { key in
            if key == "1" { window.withLock { $0 }?.setVisible(["2", "3"]) }
            return ""
        }) { _ in throw CancellationError() }
        window.withLock { $0 = PrefetchWindow(loader) }
        window.withLock { $0 }?.setVisible(["1", "2"])
        #expect(loader.inspect { $0.machine.holders.count } == 2)
        window.withLock { $0 }?.setVisible([])
        #expect(loader.inspect { $0.machine.holders.count } == 0)
    }
}
