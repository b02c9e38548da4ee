// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistLab

/// What the lab allows with its two databases.
struct PairTests {
    private func refuses(_ order: PairState.Order, _ state: PairState) -> Bool {
        var state = state
        do { try state.begin(order) } catch { return (error as? OptimistError)?.code == .badLabRequest }
        return false
    }

    @Test func `one command runs at a time, and the next is allowed when it has ended`() throws {
        var pair = PairState(standby: .following(.asynchronous))
        try pair.begin(.failOver)
        for order in [PairState.Order.follow, .failOver, .replace] { #expect(refuses(order, pair)) }
        pair.end()
        try pair.begin(.follow)
        pair.follows(.synchronous)
        pair.end()
        #expect(pair.following == .synchronous)
    }

    @Test func `after a failed promotion, the newest copy is not replaced; only promotion may be repeated`() throws {
        var pair = PairState(standby: .following(.synchronous))
        try pair.begin(.failOver)
        pair.killed()
        pair.end()
        #expect(pair.following == nil && refuses(.replace, pair) && refuses(.follow, pair))
        try pair.begin(.failOver)
        pair.promoted()
        pair.end()
        #expect(refuses(.failOver, pair) && refuses(.follow, pair))
        try pair.begin(.replace)
        pair.follows(.asynchronous)
        pair.end()
        #expect(pair.following == .asynchronous && refuses(.replace, pair))
    }

    @Test func `a killed cluster's shared memory is found, even if the cluster listens only on a Unix socket`() {
        let atSocket = "4711\n/data\n1764163789\n5432\n/tmp/sockets\n\n 16303555    393216\nready   \n"
        #expect(PostgresNode.sharedMemory(in: atSocket) == "393216")
        let atAddress = "4711\n/data\n1764163789\n5432\n/tmp\nlocalhost\n 16303555    393217\nready   \n"
        #expect(PostgresNode.sharedMemory(in: atAddress) == "393217")
        #expect(PostgresNode.sharedMemory(in: "4711\n/data\n") == nil)
    }
}
