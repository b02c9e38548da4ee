// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession
import OptimistTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ManualReachabilityTests {
    @Test func `a late subscriber receives the last update immediately`() async throws {
        let reachability = ManualReachability()
        var early = reachability.updates.makeAsyncIterator()
        #expect(await early.next()?.isOnline == true)
        reachability.update(isOnline: false)
        #expect(await early.next()?.isOnline == false)
        var late = reachability.updates.makeAsyncIterator()
        #expect(await late.next()?.isOnline == false)
        reachability.update(isOnline: true)
        #expect(await early.next()?.isOnline == true)
        #expect(await late.next()?.isOnline == true)
    }
}
