// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@_spi(Internals) @testable import OptimistServing

/// Texts of all of Unicode, with zero characters and combining marks, in every text field of the protocol.
@Suite(.timeLimit(.minutes(60)))
struct UnicodeTests {
    private static let seeds: ClosedRange<UInt64> = TestForm.of(short: 1...60, full: 1...600, soak: 1...100_000)
    private static let schema = Schema(
        id: "projects",
        types: [
            "List": TypeSchema(
                columns: ["name": ColumnSchema(.string), "extra": ColumnSchema(.json)],
                uniqueIndexes: [UniqueIndex(["name"], onCollision: .reject)])
        ])
    private let served = Served(Self.schema)

    @Test(arguments: seeds) func `M1: any text keeps its bytes, in a column and in JSON`(
        seed: UInt64
    ) async throws {
        var random = SplitMix64(seed: seed)
        let (name, key) = (text(using: &random), text(using: &random))
        let row: JSONObject = ["name": .string(name), "extra": .object(JSONObject([(key, .string(name))]))]
        let set = try await served.call("List/set", ["create": ["a": .object(row)]])
        let id = try #require(set["created"]?["a"]?["id"]?.string, "\(set)")
        let got = try await served.call("List/get", ["ids": [.string(id)]])
        let found = try #require(got["list"]?.array?.first)
        #expect(found["name"] == .string(name))
        #expect(found["extra"]?.object?.members.map { Array($0.key.utf8) } == [Array(key.utf8)])
        let again = try await served.call("List/set", ["create": ["b": .object(row)]])
        #expect(again["created"]?["b"] == nil, "the same bytes are the same unique value")
    }

    @Test func `M6: unique values that differ only in their bytes are distinct`() async throws {
        for (id, name) in [("a", "é"), ("b", "e\u{301}"), ("c", "é\u{0}"), ("d", "\u{301}"), ("e", "")] {
            let row: JSON = ["name": .string(name)]
            let set = try await served.call("List/set", ["create": .object(JSONObject([(id, row)]))])
            #expect(set["created"]?[id] != nil, "\(set)")
        }
    }

    @Test func `JSON members are equal only if their bytes are, regardless of Unicode normalization`() throws {
        let text = "{\"é\":1,\"e\u{301}\":2}"
        let value = try JSON(parsing: text.utf8)
        #expect(value["é"] == 1 && value["e\u{301}"] == 2)
        #expect(value != ["é": 2, "e\u{301}": 1])
        #expect(value == (try JSON(parsing: "{\"e\u{301}\":2,\"é\":1}".utf8)))
        #expect(
            String(decoding: value.canonicalBytes, as: UTF8.self).utf8.elementsEqual("{\"e\u{301}\":2,\"é\":1}".utf8))
    }

    @Test(arguments: [
        "", "a\u{0}", "00000000-0000-4000-8000-000000000001\u{0}", "00000000-0000-4000-8000-00000000000A",
    ])
    func `R6: a snapshot continues only after the id of a row`(after: String) async throws {
        let answer = try await served.call([("List/changes", ["snapshot": ["after": .string(after)]])])
        #expect(answer[0].arguments["type"] == "invalidArguments")
    }

    @Test(arguments: seeds) func `S9: whatever texts a request has, every call is answered in JSON under its own id`(
        seed: UInt64
    ) async throws {
        var random = SplitMix64(seed: seed)
        let settings = ServingSettings(schema: Self.schema, makeRowID: { UUID().uuidString.lowercased() })
        let service = JMAPService(store: served.store, settings: settings, now: { served.now })
        let request = disturbed(Self.request, using: &random)
        do {
            let outcome = try await service.answer(request.bytes, as: .person(Served.account))
            let response = try #require(Response(json: JSON(parsing: outcome.response, maxDepth: 40)))
            let asked = request["methodCalls"]?.array?.compactMap { $0.array?.last?.string.map { Array($0.utf8) } }
            let answered = response.methodResponses.map { Array($0.callID.utf8) }
            #expect(Set(answered).isSubset(of: Set(asked ?? [])))
        } catch let problem as RequestProblem {
            #expect((400..<500).contains(problem.status))
            #expect((try? JSON(parsing: problem.json.bytes)) == problem.json)
        }
    }

    private static let id = "00000000-0000-4000-8000-000000000001"
    private static let row: JSON = [
        "name": "a", "extra": ["k": "v"], "@hlc": "019ab3c4d5e70000-deviceAA", "@gen": 1,
    ]
    private static let request: JSON = [
        "using": [.string(RowSync.core), .string(RowSync.capability)], "device": "deviceAA", "push": 1,
        "groups": [[.string("List:\(id)")]], "createdIds": ["x": .string(id)], "origins": ["deviceAA"],
        "methodCalls": [
            [
                "List/set",
                [
                    "accountId": .string(Served.account), "ifInState": "e1.0",
                    "create": .object(JSONObject([(id, row)])),
                    "update": ["#x": ["name": "b", "extra/k": "w"]], "destroy": ["#x"],
                ], "c0",
            ],
            ["List/get", ["accountId": .string(Served.account), "ids": [.string(id)], "properties": ["name"]], "c1"],
            ["List/changes", ["accountId": .string(Served.account), "sinceState": "e1.0", "inline": ["List"]], "c2"],
            [
                "List/get",
                [
                    "accountId": .string(Served.account),
                    "#ids": ["resultOf": "c2", "name": "List/changes", "path": "/created"],
                ], "c3",
            ],
            ["Core/echo", ["any": "text"], "c4"],
            [
                "List/changes",
                ["accountId": .string(Served.account), "snapshot": ["at": "e1.0", "after": .string(id)]], "c5",
            ],
        ],
    ]

    /// Replaces some of the request's texts and names.
    private func disturbed(_ value: JSON, using random: inout SplitMix64) -> JSON {
        switch value {
        case .string(let string): .string(disturbed(string, using: &random))
        case .array(let elements): .array(elements.map { disturbed($0, using: &random) })
        case .object(let object):
            .object(
                JSONObject(
                    object.members.map { (disturbed($0.key, using: &random), disturbed($0.value, using: &random)) }))
        default: value
        }
    }

    private func disturbed(_ string: String, using random: inout SplitMix64) -> String {
        switch Int.random(in: 0..<30, using: &random) {
        case 0: text(using: &random)
        case 1: string + text(using: &random)
        case 2: string + "\u{0}"
        case 3: string + "\u{301}"
        default: string
        }
    }

    private func text(using random: inout SplitMix64) -> String {
        let special: [UInt32] = [
            0, 0x22, 0x5C, 0x2F, 0x23, 0x301, 0x327, 0x200D, 0xFEFF, 0xFFFD, 0xFFFF, 0xE9, 0x65, 0x1F600,
        ]
        let scalars = (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in
            let drawn =
                Bool.random(using: &random)
                ? special.randomElement(using: &random) : UInt32.random(in: 0...0x10FFFF, using: &random)
            return drawn.flatMap(Unicode.Scalar.init)
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
