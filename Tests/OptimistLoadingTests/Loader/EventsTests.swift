// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct EventsTests {
    @Test func `C3 a value is wanted for as long as somebody iterates`() async throws {
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
