// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import OptimistCore
import Testing

@testable import OptimistProxy

@Suite struct LinkTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func link(_ direction: Link.Direction = .request, seed: UInt64 = 1) -> Link {
        Link(direction: direction, seed: seed)
    }

    @Test func `a good network delivers a chunk unchanged and immediately`() {
        var link = link()
        let fate = link.carry(byteCount: 10, now: start, under: .online)
        #expect(fate == .deliver([.init(byteCount: 10, due: start)]))
    }

    @Test func `half of the latency applies in each direction`() {
        for direction in [Link.Direction.request, .response] {
            var link = link(direction)
            let fate = link.carry(byteCount: 10, now: start, under: NetworkConditions(latency: .milliseconds(80)))
            #expect(fate == .deliver([.init(byteCount: 10, due: start + .milliseconds(40))]))
        }
    }

    @Test func `a narrow link finishes one chunk before it takes the next`() {
        var link = link()
        let conditions = NetworkConditions(bandwidth: 1000)
        let first = link.carry(byteCount: 500, now: start, under: conditions)
        #expect(first == .deliver([.init(byteCount: 500, due: start + .milliseconds(500))]))
        let second = link.carry(byteCount: 500, now: start, under: conditions)
        #expect(second == .deliver([.init(byteCount: 500, due: start + .milliseconds(1000))]))
        let afterAPause = link.carry(byteCount: 100, now: start + .seconds(5), under: conditions)
        #expect(afterAPause == .deliver([.init(byteCount: 100, due: start + .milliseconds(5100))]))
    }

    @Test(arguments: 1...100)
    func `under any conditions, pieces cover the chunk and arrive in order, and the end is last`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var link = link(seed: seed)
        var now = start
        var last = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<50 {
            let conditions = NetworkConditions(
                latency: .milliseconds(.random(in: 0...300, using: &random)),
                jitter: .milliseconds(.random(in: 0...300, using: &random)),
                bandwidth: Bool.random(using: &random) ? .random(in: 1...1_000_000, using: &random) : nil,
                sliceBytes: Bool.random(using: &random) ? .random(in: 1...100, using: &random) : nil)
            now = now + .milliseconds(.random(in: 0...100, using: &random))
            let count = Int.random(in: 1...5000, using: &random)
            guard case .deliver(let pieces) = link.carry(byteCount: count, now: now, under: conditions) else {
                Issue.record("nothing was to be lost")
                return
            }
            #expect(pieces.reduce(0) { $0 + $1.byteCount } == count)
            #expect(pieces.allSatisfy { $0.due >= now && $0.byteCount <= conditions.sliceBytes ?? .max })
            for piece in pieces {
                #expect(piece.due >= last)
                last = piece.due
            }
        }
        #expect(link.end(now: now, under: .online) >= last)
    }

    @Test func `only a response is cut at its limit, counted over all chunks`() {
        let conditions = NetworkConditions(truncateResponsesAfterBytes: 15)
        var response = link(.response)
        let whole = response.carry(byteCount: 10, now: start, under: conditions)
        #expect(whole == .deliver([.init(byteCount: 10, due: start)]))
        let cut = response.carry(byteCount: 10, now: start, under: conditions)
        #expect(cut == .deliverAndClose([.init(byteCount: 5, due: start)]))
        var request = link(.request)
        let untouched = request.carry(byteCount: 20, now: start, under: conditions)
        #expect(untouched == .deliver([.init(byteCount: 20, due: start)]))
    }

    @Test func `the same seed loses the same chunks, about as many as configured`() {
        func lost(seed: UInt64) -> [Int] {
            var link = link(seed: seed)
            return (0..<10_000).filter { _ in
                link.carry(byteCount: 1, now: start, under: NetworkConditions(lossPercent: 10)) == .lose
            }
        }
        #expect(lost(seed: 7) == lost(seed: 7))
        #expect(lost(seed: 7) != lost(seed: 8))
        #expect((800...1200).contains(lost(seed: 7).count))
    }

    @Test func `0 percent loses nothing, and 100 percent loses everything`() {
        var link = link()
        for _ in 0..<1000 {
            let certain = link.carry(byteCount: 1, now: start, under: NetworkConditions(lossPercent: 100))
            #expect(certain == .lose)
            let impossible = link.carry(byteCount: 1, now: start, under: .online)
            #expect(impossible != .lose)
        }
    }
}

@Suite struct LostResponsesTests {
    @Test func `only responses to requests after the call are dropped, each counted once`() {
        var lost = LostResponses()
        var stream = LostResponses.Mark()
        var push = LostResponses.Mark()
        var pull = LostResponses.Mark()
        lost.requestPassed(&stream)
        lost.dropNext(1)
        lost.requestPassed(&push)
        lost.requestPassed(&pull)
        let swallowed = [stream, push, pull].map { lost.swallows($0) }
        #expect(swallowed == [false, true, false])
        #expect(lost.remaining == 0)
    }
}

@Suite struct NetworkConditionsTests {
    @Test(arguments: NetworkConditions.Profile.allCases)
    func `a profile survives JSON`(profile: NetworkConditions.Profile) {
        let patch = NetworkConditionsPatch(profile.conditions)
        #expect(patch.profile == profile)
        #expect(NetworkConditions.flaky.applying(patch) == profile.conditions)
    }

    @Test func `a patch changes only the values it names`() {
        let changed = NetworkConditions.threeG.applying(NetworkConditionsPatch(lossPercent: 5))
        #expect(changed.lossPercent == 5)
        #expect(changed.latency == NetworkConditions.threeG.latency)
        #expect(NetworkConditionsPatch(changed).profile == nil)
    }

    @Test func `values out of range are clamped`() {
        let patch = NetworkConditionsPatch(latencyMs: -1, jitterMs: .infinity, lossPercent: .nan)
        let conditions = NetworkConditions.online.applying(patch)
        #expect(conditions == NetworkConditions(jitter: .seconds(600)))
    }
}
