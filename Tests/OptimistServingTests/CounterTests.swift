// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct CounterTests {
    private static func store() -> ModelStore {
        var store = ModelStore()
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        return store
    }

    private static func total(_ total: Int64, _ device: String, at milliseconds: Int64) -> RowOperation {
        .update(.todo, ["likes": ["@total": .int(total)]], at: .at(milliseconds, device))
    }

    @Test
    func
        `M3 two increments and one decrement on three devices give one, in any order and however often they are repeated`()
    {
        let pushes = [
            Self.total(1, "deviceAA", at: 1), Self.total(1, "deviceBB", at: 2), Self.total(-1, "deviceCC", at: 3),
        ]
        for order in [[0, 1, 2], [2, 1, 0], [1, 1, 0, 2, 0, 1], [2, 0, 2, 1]] {
            var store = Self.store()
            for index in order { #expect(store.push([pushes[index]])[0].isAcceptedAsSent) }
            #expect(store.row(.todo)?.sum(of: "likes") == 1)
            #expect(store.seq == 4)
        }
    }

    @Test func `M3 for one origin the later clock wins, and the answer holds the server's total`() {
        var store = Self.store()
        store.push([Self.total(5, "deviceAA", at: 9), Self.total(2, "deviceBB", at: 1)])
        let verdict = store.push([Self.total(3, "deviceAA", at: 4)], origins: ["deviceAA"])[0]
        #expect(verdict.won?.values == ["likes": 7])
        #expect(verdict.won?.mine == ["likes": ["deviceAA": 5]])
    }

    @Test
    func
        `M3 M4 a device's later total counts even if the server had replaced the earlier one's clock with a later one`()
    {
        var store = Self.store()
        let ahead = Self.total(2, "deviceBB", at: 31_536_000_000)
        store.push([ahead], from: "deviceBB")
        #expect(store.row(.todo)?.sum(of: "likes") == 2)
        store.push([Self.total(5, "deviceBB", at: -1_000)], from: "deviceBB")
        #expect(store.row(.todo)?.sum(of: "likes") == 5)
        store.push([ahead], from: "deviceBB")
        #expect(store.row(.todo)?.sum(of: "likes") == 5)
    }

    @Test func `M2 M3 a counter has the clock of its latest total, and other columns keep theirs`() {
        var store = Self.store()
        store.push([Self.total(5, "deviceAA", at: 9), Self.total(2, "deviceBB", at: 1)])
        let clocks = store.row(.todo)?.patch().clocks
        #expect(clocks == ColumnClocks(common: .at(0), exceptions: ["likes": .at(9, "deviceAA")]))
        store.push([.update(.todo, ["content": "b"], at: .at(9, "deviceAA"))])
        #expect(store.row(.todo)?.patch().clocks == ColumnClocks(common: .at(9, "deviceAA")))
    }

    @Test func `M3 L3 the server remembers every nonzero total and the latest 500 zero totals`() {
        var store = Self.store()
        func device(_ number: Int) -> String { "device\(number)A" }
        for number in 1...600 { store.push([Self.total(1, device(number), at: Int64(number))]) }
        store.push((2...600).map { Self.total(0, device($0), at: 1_000 + Int64($0)) })
        let origins = store.row(.todo)?.counters["likes"]
        #expect(origins?.count == 501)
        #expect(origins?[device(1)]?.total == 1)
        #expect(origins?[device(100)] == nil)
        #expect(origins?[device(101)]?.total == 0)
        #expect(store.row(.todo)?.sum(of: "likes") == 1)
        let seq = store.seq
        store.push([Self.total(0, device(100), at: 1_100)])
        #expect(store.seq == seq, "a repetition changes nothing")
    }

    @Test func `M3 L3 a device may send its former id's totals with its current ones`() {
        var store = Self.store()
        let both: JSON = [
            ["@total": 3, "origin": "deviceAA", "@hlc": .string(WriteClock.at(1, "deviceAA").description)],
            ["@total": 1, "origin": "deviceBB", "@hlc": .string(WriteClock.at(2, "deviceBB").description)],
        ]
        #expect(store.push([.update(.todo, ["likes": both], at: .at(2, "deviceBB"))])[0].isAcceptedAsSent)
        let refused = store.push([.update(.todo, ["content": .null], at: .at(3))], origins: ["deviceAA", "deviceCC"])[0]
        #expect(refused.error?.current?.values["likes"] == 4)
        #expect(refused.error?.current?.mine == ["likes": ["deviceAA": 3]])
    }

    @Test func `V1 the requesting origins' totals count toward the size of an answer`() {
        var store = Self.store()
        let devices = (100..<200).map { "device\($0)" }
        let totals = devices.map { device -> JSON in
            ["@total": 1, "origin": .string(device), "@hlc": .string(WriteClock.at(1, device).description)]
        }
        let todos = [RowKey.todo(1), RowKey.todo(2)]
        store.push(todos.map { .create($0, ["content": "x", "likes": .array(totals)], at: .at(1)) })
        store.maxAnswerBytes = 3_000
        let verdicts = store.push(todos.map { .update($0, ["content": .null], at: .at(2)) }, origins: Set(devices))
        #expect(verdicts.map { $0.error?.type } == ["invalidProperties", "rateLimit"])
    }

    @Test func `M3 a client without clocks adds to the sum, and a new life starts at zero`() {
        var store = Self.store()
        store.push([.update(.todo, ["likes": ["@add": 2]])])
        store.push([.update(.todo, ["likes": ["@add": -5]])])
        #expect(store.row(.todo)?.sum(of: "likes") == -3)
        store.push([.destroy(.todo, at: .at(5), generation: 2)])
        store.push([.create(.todo, ["content": "b"], at: .at(6), generation: 3)])
        #expect(store.row(.todo)?.counters == [:])
    }

    @Test(arguments: [3, "x", [], ["@total": 1.5], ["@add": "1"], ["@total": .int(1 << 53 + 1)]] as [JSON])
    func `an invalid total is refused`(value: JSON) {
        var store = Self.store()
        let error = store.push([.update(.todo, ["likes": value], at: .at(1))])[0].error
        #expect(error?.type == "invalidProperties" && error?.properties == ["likes"])
    }

    @Test func `a total without a clock is refused`() {
        var store = Self.store()
        #expect(store.push([.update(.todo, ["likes": ["@total": 1]])])[0].error?.properties == ["likes"])
    }

    @Test
    func `M3 a column that becomes a counter keeps its value, and one that stops being a counter keeps its sum`() {
        var store = Self.store()
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.int)
        store.push([.create(.todo, ["content": "x", "likes": 5], at: .at(0))])
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        store.push([.update(.todo, ["content": "y"], at: .at(1))])
        let add = RowOperation.update(.todo, ["likes": ["@total": 2]], at: .at(2))
        store.push([add])
        #expect(store.row(.todo)?.sum(of: "likes") == 7)
        let seq = store.seq
        store.push([add])
        #expect(store.row(.todo)?.sum(of: "likes") == 7 && store.seq == seq)
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.int)
        store.push([.update(.todo, ["content": "z"], at: .at(3))])
        #expect(store.value(.todo, "likes") == 7)
        store.push([.update(.todo, ["likes": 1], at: .at(4))])
        #expect(store.value(.todo, "likes") == 1 && store.row(.todo)?.counters["likes"] == nil)
    }

    @Test func `sums stay within 64 bits`() {
        var row = MergeRow(generation: 1)
        row.counters["n"] = ["a": CounterTotal(.max, .at(0)), "b": CounterTotal(5, .at(0))]
        #expect(row.sum(of: "n") == .max)
    }
}
