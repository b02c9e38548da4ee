// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistWire
import Testing

@testable import OptimistServer

@Suite(.timeLimit(.minutes(20)))
struct SchemaTests {
    private func refusal(_ text: String) -> OptimistError? {
        do {
            _ = try Schema(servable: text.utf8)
            return nil
        } catch { return error as? OptimistError }
    }

    private func schema(_ columns: String) -> String { #"{"id":"x","types":{"T":{"a":{"type":"string"}\#(columns)}}}"# }

    @Test(arguments: [
        (#","b":{"type":"blob"}"#, "T.b"), (#","b":{"type":"string","unique":true}"#, "T.b"),
        (#","editWins":true"#, "T"),
        (#","unique":[["a"]]"#, "T"), (#","@indexes":[["a"]]"#, "T"),
    ])
    func `an unsupported feature is refused by name`(columns: String, place: String) {
        let refusal = refusal(schema(columns))
        #expect(refusal?.code == .schemaConflict)
        #expect(refusal?.message.hasPrefix("\(place) uses") == true, "\(String(describing: refusal))")
    }

    @Test(arguments: [
        #","b":{"type":"counter"}"#, #","b":{"type":"ref","to":"T","onDelete":"cascade"}"#, #","@editWins":true"#,
        #","@unique":[{"columns":["a"],"onCollision":"mergeInto"}],"@minClientVersion":1"#,
        #","s":{"type":"ref"},"@space":{"column":"s"}"#,
    ])
    func `every supported feature is accepted`(columns: String) {
        #expect(refusal(schema(columns)) == nil)
    }

    @Test func `a contradictory schema is refused, whether parsed or built`() {
        #expect(refusal(schema(#","b":{"type":"ref","to":"T","required":true,"onDelete":"setNull"}"#)) != nil)
        let made = Schema(id: "x", types: ["T": TypeSchema(columns: [:], uniqueIndexes: [UniqueIndex(["a"])])])
        #expect(throws: OptimistError.self) { try made.checkServable(with: RowValidation()) }
    }

    @Test func `all faults of a schema are reported together, in its format and for the server`() {
        let text = #"""
            {"id":"x","colour":1,"types":{"A":{"b":{"type":"blob"},"c":{"type":"string","unique":true},
            "d":{"type":"ref","to":"Z"}},"a":{"@indexes":[],"b":{"type":"colour"}}}}
            """#
        let lines = refusal(text)?.message.split(separator: "\n").map(String.init) ?? []
        #expect(lines.first == "The schema has 5 faults:")
        #expect(lines.contains { $0.contains("\"colour\"") } && lines.contains { $0.contains("a.b needs") }, "\(lines)")
        let servable = refusal(#"{"id":"x","types":{"A":{"b":{"type":"blob"}},"a":{"c":{"type":"string"}}}}"#)
        #expect(servable?.message.hasPrefix("The schema has 2 faults:\n  A.b uses") == true)
    }

    @Test(arguments: [
        (#"{"id":"x","types":{"A":{"b":{"ty"#, "after 32 bytes. It seems to be cut off."), ("", "The file is empty."),
        ("{\n\"id\": x}", "in line 2"), (#"{"id":"x","id":"y"}"#, "the member \"id\" twice"),
    ])
    func `invalid JSON is refused with the position of its fault`(text: String, words: String) {
        #expect(refusal(text)?.message.contains(words) == true, "\(String(describing: refusal(text)))")
    }

    @Test func `a column may have the name of an unsupported feature`() {
        #expect(refusal(schema(#","unique":{"type":"bool"},"editWins":{"type":"bool"}"#)) == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"id":"x"}"#, #"{"id":"x","types":{"optimist_rows":{"a":{"type":"string"}}}}"#,
        #"{"id":"x","types":{"A":{},"a":{}}}"#,
        #"{"id":"x","types":{"A":{"b":{"type":"string"},"B":{"type":"string"}}}}"#,
        #"{"id":"x","version":1,"minClientVersion":2,"types":{}}"#,
        #"{"id":"x","types":{"A":{"b":{"type":"colour"}}}}"#,
    ])
    func `an invalid schema is refused with a message`(text: String) {
        #expect(refusal(text)?.code == .schemaConflict)
        #expect(refusal(text)?.message.isEmpty == false)
    }
}
