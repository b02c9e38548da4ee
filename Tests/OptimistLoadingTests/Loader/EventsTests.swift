// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct EventsTests {
    @Test func `progress that is not a number is dropped, and other values are clamped`() async throws {
        let loader = Loader<String, Int> { fetch in
            for progress in [Double.nan, 0.5, -.infinity, .signalingNaN, 7] { fetch.report(progress) }
            return Fetched(1)
        }
        var told: [Double] = []
        for await event in loader.events(for: "a") {
            if case .progress(let progress) = event { told.append(progress) }
            if case .value = event { break }
        }
        #expect(told.allSatisfy { (0...1).contains($0) })
    }

    @Test func `C3 a value is wanted for as long as its events are iterated`() async throws {
        let desk = Desk(LoaderLimits(linger: .zero))
        let (loader, source) = (desk.loader, desk.source)
        let task = Task {
            for await event in loader.events(for: "a") {
                if case .partial(let value) = event { return value }
            }
            return 0
        }
        await source.begin()
        source.show("a", 3)
        #expect(await task.value == 3)
        #expect(await source.cancellation() == "a")
        #expect(loader.inspect { $0.machine.holders.count } == 0)
    }
}
