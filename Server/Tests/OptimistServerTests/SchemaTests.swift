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
    func `what the server cannot do yet is refused by name`(columns: String, place: String) {
        let refusal = refusal(schema(columns))
        #expect(refusal?.code == .schemaConflict)
        #expect(refusal?.message.hasPrefix("\(place) asks for") == true, "\(String(describing: refusal))")
    }

    @Test(arguments: [
        #","b":{"type":"counter"}"#, #","b":{"type":"ref","to":"T","onDelete":"cascade"}"#, #","@editWins":true"#,
        #","@unique":[{"columns":["a"],"onCollision":"mergeInto"}],"@minClientVersion":1"#,
    ])
    func `what the server can do is taken`(columns: String) {
        #expect(refusal(schema(columns)) == nil)
    }

    @Test func `a schema that contradicts itself is refused, read or made`() {
        #expect(refusal(schema(#","b":{"type":"ref","to":"T","required":true,"onDelete":"setNull"}"#)) != nil)
        let made = Schema(id: "x", types: ["T": TypeSchema(columns: [:], uniqueIndexes: [UniqueIndex(["a"])])])
        #expect(throws: OptimistError.self) { try made.checkServable() }
    }

    @Test func `a column may be called like what the server cannot do`() {
        #expect(refusal(schema(#","unique":{"type":"bool"},"editWins":{"type":"bool"}"#)) == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"id":"x"}"#, #"{"id":"x","types":{"optimist_rows":{"a":{"type":"string"}}}}"#,
        #"{"id":"x","types":{"A":{},"a":{}}}"#,
        #"{"id":"x","types":{"A":{"b":{"type":"string"},"B":{"type":"string"}}}}"#,
        #"{"id":"x","version":1,"minClientVersion":2,"types":{}}"#,
        #"{"id":"x","types":{"A":{"b":{"type":"colour"}}}}"#,
    ])
    func `what is no schema is refused with a sentence`(text: String) {
        #expect(refusal(text)?.code == .schemaConflict)
        #expect(refusal(text)?.message.isEmpty == false)
    }
}
