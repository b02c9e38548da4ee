// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Spaces on a server with its HTTP side.
@Suite(.timeLimit(.minutes(20)))
struct SpaceServerTests {
    @Test func `P10 a server founds a space, and keeps it through a restart`() async throws {
        let site = Site()
        let ann = try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let ann = try await http.signUp()
            let session = try await http.get("/jmap/session", token: ann.access)
            #expect(String(decoding: session.json.bytes, as: UTF8.self).contains("optimist_member"))
            let member: JSON = ["space": .string(ServedSpace.space), "name": "Ann", "role": "owner"]
            let calls: [(String, JSON)] = [
                (
                    "optimist_member/set",
                    ["accountId": .string(ServedSpace.account), "create": [ServedSpace.annRow: member]]
                ),
                (
                    "List/set",
                    [
                        "accountId": .string(ServedSpace.account),
                        "create": [RowKey.list(1).id: ServedSpace.list(ServedSpace.space)],
                    ]
                ),
            ]
            let answers = try await server.call(ann, calls, push: 1)
            #expect(
                answers.map { $0.arguments["newState"] } == Array(repeating: answers[0].arguments["newState"], count: 2)
            )
            #expect(answers.allSatisfy { $0.arguments["notCreated"] == .null })
            return ann
        }
        try await site.serving(schema: ServedSpace.schema) { server, http async throws in
            let calls: [(String, JSON)] = [("List/get", ["accountId": .string(ServedSpace.account), "ids": .null])]
            let answers = try await server.call(ann, calls)
            #expect(answers[0].arguments["list"]?.array?.count == 1)
            let eve = try await http.signUp("eve@example.org")
            #expect(try await server.call(eve, calls)[0].arguments["type"] == "accountNotFound")
        }
    }
}
