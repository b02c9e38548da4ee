// This source file is part of the Optimist open source project, under the MIT licence.

import AppRules
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// An app's own checks in the server's configuration.
@Suite(.timeLimit(.minutes(20)))
struct AppRuleTests {
    private let site = Site()

    private func create(_ number: Int, _ values: JSONObject) -> JSON {
        ["create": [RowKey.id(number): .object(values)]]
    }

    @Test func `G3 the configuration's checks refuse rows with their code and columns`() async throws {
        let checks = RowValidation([
            "todo": { $0["content"] == "late" ? RowFault("tooLate", "It is late.", columns: ["date"]) : nil }
        ])
        let server = try await site.open { $0.rowValidation = checks }
        let person = try await server.signUp()
        let answer = try await server.call(person, "todo/set", create(1, ["content": "late"]), push: 1)
        let error = SetAnswer(json: answer)?.notCreated.first?.error
        #expect((error?.type, error?.code, error?.properties) == ("invalidProperties", "tooLate", ["date"]))
        let other = try await server.call(person, "todo/set", create(2, ["content": "early"]), push: 2)
        #expect(SetAnswer(json: other)?.created.map(\.id) == [RowKey.id(2)])
    }

    @Test func `G3 the template's checks refuse rows on a server that embeds them`() async throws {
        let columns = ["start": ColumnSchema(.date), "end": ColumnSchema(.date)]
        let schema = Schema(id: "app", types: ["task": TypeSchema(columns: columns)])
        let server = try await site.open(schema: schema) { $0.rowValidation = appRules }
        let person = try await server.signUp()
        let times: JSONObject = ["start": "2026-11-28T10:00:00.000Z", "end": "2026-11-28T09:00:00.000Z"]
        let answer = try await server.call(person, "task/set", create(1, times), push: 1)
        #expect(SetAnswer(json: answer)?.notCreated.first?.error.code == "endsBeforeStart")
    }

    @Test func `G2 the server refuses to start with a bad rule, and reads valid rules from its schema file`()
        async throws
    {
        let text = #"{"id":"x","types":{"T":{"a":{"type":"string","pattern":"(","maxLength":5,"enum":["a"]}}}}"#
        let error = #expect(throws: OptimistError.self) { try Schema(servable: text.utf8) }
        #expect(error?.message.contains("T.a has a \"pattern\" that cannot be read") == true)
        let good = try Schema(servable: text.replacing("(", with: "[a-z]").utf8)
        #expect(good.types["T"]?.columns["a"]?.rules == ColumnRules(maxLength: 5, pattern: "[a-z]", oneOf: ["a"]))
        var bad = Schema.planner
        bad.types["todo"]?.columns["priority"]?.rules = ColumnRules(min: 2, max: 1)
        let refusal = await #expect(throws: OptimistError.self) { _ = try await site.open(schema: bad) }
        #expect(refusal?.code == .schemaConflict)
    }

    @Test func `G2 the server refuses to start with a check of a type not in its schema`() async throws {
        let refusal = await #expect(throws: OptimistError.self) {
            _ = try await site.open { $0.rowValidation = RowValidation(["tod": { _ in nil }]) }
        }
        #expect(refusal?.code == .schemaConflict)
        #expect(refusal?.message.contains("There is a check for \"tod\"") == true)
    }
}
