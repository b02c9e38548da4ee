// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

/// A server that is restored from a backup, and the devices that heal it.
@Suite(.timeLimit(.minutes(20)))
struct EpochTests {
    private let served = Served()

    private func pull(_ state: String) async throws -> JSONObject {
        try await served.call("Todo/changes", ["sinceState": .string(state), "inline": true])
    }

    private func push(_ number: Int64, _ key: RowKey, _ text: JSON, _ clock: WriteClock) async throws -> JSONObject {
        let patch: JSONObject = ["content": text, "@hlc": .string(clock.description)]
        return try await served.call("Todo/set", .create([(key, patch)]), push: number)
    }

    @Test func `L3: only the answer to a state from an earlier epoch lists that epoch and the later ones`()
        async throws
    {
        _ = try await push(1, .todo(1), "a", .at(0))
        #expect(try await pull("e1.1")["epochs"] == nil)
        served.restart("e2")
        served.restart("e3")
        let answer = try await pull("e1.1")
        #expect(
            answer["epochs"] == [
                ["epoch": "e1", "firstSeq": 0], ["epoch": "e2", "firstSeq": 1], ["epoch": "e3", "firstSeq": 1],
            ])
        #expect(answer["newState"] == "e3.1")
        #expect(try await pull("e2.1")["epochs"] == [["epoch": "e2", "firstSeq": 1], ["epoch": "e3", "firstSeq": 1]])
        let standard = try await served.call("Todo/changes", ["sinceState": "e1.1"])
        #expect(standard["newState"] == "e3.1")
        #expect(standard["epochs"] == nil)
    }

    @Test func `L3: a restored server rejects later states, and pushes with the old clocks heal it`()
        async throws
    {
        _ = try await push(1, .todo(1), "first", .at(0))
        let backup = served.store.contents
        _ = try await push(2, .todo(1), "by another", .at(1, "deviceBB"))
        _ = try await push(3, .todo(2), "lost", .at(2))
        let whole = try await pull("e1.0")
        served.restart("e2", from: backup)
        // Another device writes in between.
        _ = try await served.call(
            "Todo/set",
            .update(.todo(1), ["content": "meanwhile", "@hlc": .string(WriteClock.at(0, "deviceCC").description)]))
        let forked = try await pull("e1.3")
        #expect(forked["type"] == "forked")
        #expect(forked["epochs"] == [["epoch": "e1", "firstSeq": 0], ["epoch": "e2", "firstSeq": 1]])
        #expect(try await pull("e9.3")["type"] == "forked")
        // Each device sends all it knows, including other devices' writes.
        #expect(try await push(4, .todo(1), "by another", .at(1, "deviceBB"))["created"] != .null)
        _ = try await push(5, .todo(2), "lost", .at(2))
        let healed = try await pull("e1.1")
        func values(_ answer: JSONObject) -> [String: JSON] {
            Dictionary(
                (answer["list"]?.array ?? []).map {
                    ($0["id"]?.string ?? "", [$0["content"] ?? nil, $0["@hlc"] ?? nil])
                },
                uniquingKeysWith: { $1 })
        }
        #expect(values(healed) == values(whole))
    }

    @Test
    func `L3: a device behind the backup is not forked: after a purge it gets cannotCalculateChanges with the epochs`()
        async throws
    {
        _ = try await push(1, .todo(1), "a", .at(0))
        _ = try await served.call("Todo/set", .destroy(.todo(1)))
        served.restart("e2", from: served.store.contents)
        served.advance(days: 92)
        try await TombstoneSweep(store: served.store, tombstoneDays: 90).run(now: served.now)
        let refused = try await pull("e1.1")
        #expect(refused["type"] == "cannotCalculateChanges")
        #expect(refused["epochs"] == [["epoch": "e1", "firstSeq": 0], ["epoch": "e2", "firstSeq": 2]])
    }
}
