// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import Optimist
@_spi(Internals) @testable import OptimistWire

/// How a push becomes requests and its answers become verdicts, without a server or a store.
@Suite(.timeLimit(.minutes(20)))
struct PushCallTests {
    private static let clock = WriteClock(stamp: Stamp(milliseconds: 1_000), device: "A")

    /// A created, a changed and a deleted step, and a project.
    private static let push = RemotePush(
        number: 12, device: "A",
        rows: [
            RemotePush.Row(table: "step", id: "a", change: .create(RowPatch(generation: 1, values: ["text": "one"]))),
            RemotePush.Row(table: "project", id: "p", change: .update(RowPatch(generation: 1, values: ["name": "P"]))),
            RemotePush.Row(table: "step", id: "b", change: .update(RowPatch(generation: 1, values: ["text": "two"]))),
            RemotePush.Row(table: "step", id: "c", change: .delete(Tombstone(generation: 2, clock: clock))),
        ], groups: [0..<2], origins: ["A", "B"])

    private static let call = PushCall(push, account: "u", schemaVersion: 3)

    private static let stepsTaken: JSON = [
        "step/set", ["newState": "e1.7", "created": ["a": nil], "updated": ["b": nil], "destroyed": ["c"]], "0",
    ]
    private static let projectTaken: JSON = ["project/set", ["newState": "e1.7", "updated": ["p": nil]], "1"]

    private func answer(_ responses: JSON...) throws -> RemotePush.Answer {
        try Self.call.answer(from: #require(Response(json: .response(responses))))
    }

    /// The verdict on the changed step.
    private func verdict(_ error: JSON) throws -> RemotePush.Verdict {
        try answer(["step/set", ["newState": "e1.7", "notUpdated": ["b": error]], "0"], Self.projectTaken).verdicts[2]
    }

    // MARK: - The request

    @Test func `S2 a push is one call for each table, and names its groups of rows`() throws {
        let request = Self.call.request
        #expect(request.methodCalls.map(\.name) == ["step/set", "project/set"])
        #expect(request.methodCalls.map(\.callID) == ["0", "1"])
        #expect(request.groups == [["step:a", "project:p"]])
        #expect((request.device, request.push, request.schemaVersion) == ("A", 12, 3))
        #expect(request.origins == ["A", "B"])
        let steps = try #require(SetCall(json: request.methodCalls[0].arguments))
        #expect(steps.accountID == "u")
        #expect(steps.create.map(\.id) == ["a"])
        #expect(steps.update.map(\.id) == ["b"])
        #expect(steps.destroy.map(\.tombstone) == [Tombstone(generation: 2, clock: Self.clock)])
        #expect(Request(json: request.json) == request, "a server reads the request unchanged")
    }

    @Test func `a push without rows becomes an empty request and gets an empty answer`() throws {
        let call = PushCall(RemotePush(number: 0, device: "A", rows: []), account: "u", schemaVersion: 3)
        #expect(call.request.methodCalls.isEmpty)
        let response = try #require(Response(json: .response([Self.stepsTaken])))
        #expect(try call.answer(from: response).verdicts.isEmpty)
    }

    // MARK: - Accepted rows

    @Test func `S4 the verdicts accept the rows in the order of the push`() throws {
        let answer = try answer(Self.projectTaken, Self.stepsTaken)
        #expect(answer.verdicts == Array(repeating: .accepted(seq: 7), count: 4))
        #expect(answer.epoch == "e1")
        #expect(answer.serverTime == Date(timeIntervalSince1970: 1_785_585_600))
        #expect(answer.withheld.isEmpty)
    }

    @Test(
        arguments: [
            (["text": "won", "@seq": 7], .merged(seq: 7, RowPatch(seq: 7, values: ["text": "won"]))),
            (["@mergedInto": "z"], .mergedInto(seq: 7, winner: "z")),
            (["id": "b"], .accepted(seq: 7)), (["@gen": 1], .accepted(seq: 7)), (nil, .accepted(seq: 7)),
            (["@gen": -1, "text": "won"], .accepted(seq: 7)), (5, .accepted(seq: 7)),
        ] as [(JSON, RemotePush.Verdict)])
    func `M1 the verdict on an accepted row has the server's winning columns, or names the surviving row`(
        won: JSON, verdict: RemotePush.Verdict
    ) throws {
        let answer = try answer(["step/set", ["newState": "e1.7", "updated": ["b": won]], "0"], Self.projectTaken)
        #expect(answer.verdicts[2] == verdict)
    }

    // MARK: - Errors of rows

    @Test(arguments: ["invalidProperties", "forbidden", "overQuota", "tooLarge", "uniqueViolation", "immutable"])
    func `V1 the protocol's final error codes reject the row`(type: String) throws {
        let error: JSON = [
            "type": .string(type), "description": "No.", "properties": ["text", "rank"], "winner": "w",
            "current": ["text": "theirs", "@seq": 5],
        ]
        let refusal = RemotePush.Refusal(
            code: type, message: "No.", current: RowPatch(seq: 5, values: ["text": "theirs"]),
            columns: ["text", "rank"], winner: "w")
        #expect(try verdict(error) == .rejected(refusal))
        #expect(try verdict(["type": .string(type)]) == .rejected(RemotePush.Refusal(code: type, message: type)))
    }

    @Test(
        arguments: [
            (["type": "notFound"], .gone(seq: 7)),
            (["type": "notFound", "deletion": ["@gen": 2]], .gone(seq: 7, Tombstone(generation: 2, clock: nil))),
            (["type": "notFound", "deletion": ["@gen": "2"]], .gone(seq: 7)),
            (["type": "groupFailed", "by": ["step:a"]], .groupFailed(by: ["step:a"], current: nil)),
            (["type": "groupFailed", "by": 5, "current": 5], .groupFailed(by: [], current: nil)),
            (["type": "blocked", "by": ["project:p", "project:q"]], .blocked(by: "project:p")),
            (["type": "blocked"], .blocked(by: "")), (["type": "lifeUnknown"], .lifeUnknown),
        ] as [(JSON, RemotePush.Verdict)])
    func `each error of a row in the protocol maps to its verdict`(error: JSON, verdict: RemotePush.Verdict) throws {
        #expect(try self.verdict(error) == verdict)
    }

    @Test(
        arguments: [
            (["type": "rateLimit", "retryAfter": 5], .retry(after: .seconds(5), DeferralReason("rateLimit"))),
            (
                ["type": "schemaTooNew", "properties": ["x"]],
                .retry(after: nil, DeferralReason("schemaTooNew", column: "x"))
            ),
            (["type": "neverHeardOf"], .retry(after: nil, DeferralReason("neverHeardOf"))),
            (["type": ""], .retry(after: nil, DeferralReason(""))),
            (["type": 5], .retry(after: nil, DeferralReason("serverFail"))),
            (nil, .retry(after: nil, DeferralReason("serverFail"))),
            (["type": "rateLimit", "retryAfter": "5"], .retry(after: nil, DeferralReason("rateLimit"))),
        ] as [(JSON, RemotePush.Verdict)])
    func `V1 after any other error, even an unreadable one, the row is sent again later`(
        error: JSON, verdict: RemotePush.Verdict
    ) throws {
        #expect(try self.verdict(error) == verdict)
    }

    @Test(arguments: [
        (0.25, Duration.milliseconds(250)), (86_400, .seconds(86_400)), (86_401, .seconds(86_400)),
        (1e17, .seconds(86_400)), (1e300, .seconds(86_400)), (-1, .zero), (-1e300, .zero),
    ])
    func `V1 a row waits as long as the server asks, at most a day`(
        seconds: Double, wait: Duration
    ) throws {
        let verdict = try verdict(["type": "rateLimit", "retryAfter": .double(seconds)])
        #expect(verdict == .retry(after: wait, DeferralReason("rateLimit")))
    }

    @Test func `a deletion of a row unknown to the server is accepted`() throws {
        let answer = try answer(
            ["step/set", ["newState": "e1.7", "notDestroyed": ["c": ["type": "notFound"]]], "0"], Self.projectTaken)
        #expect(answer.verdicts[3] == .accepted(seq: 7))
    }

    // MARK: - Tables and entire pushes

    @Test func `V1 a row missing from the answer is sent again`() throws {
        let later = RemotePush.Verdict.retry(after: nil)
        #expect(try answer().verdicts == [later, later, later, later])
        #expect(try answer(Self.projectTaken).verdicts == [later, .accepted(seq: 7), later, later])
        let unread: JSON = ["step/set", ["created": ["a": nil]], "0"]
        #expect(try answer(unread, Self.projectTaken).verdicts[0] == later, "an answer without a state does not count")
    }

    @Test func `L1 V1 an error of one table defers only that table's rows, with the error as the reason`() throws {
        let tooOld = try answer(["error", ["type": "schemaTooOld"], "0"], Self.projectTaken)
        let reason = RemotePush.Verdict.retry(after: nil, DeferralReason("schemaTooOld"))
        #expect(tooOld.verdicts == [reason, .accepted(seq: 7), reason, reason])
        #expect(tooOld.withheld == ["step": .upgradeRequired])
        let unknown = try answer(["error", ["type": "unknownMethod"], "0"], ["error", [:], "1"])
        #expect(unknown.verdicts[0] == .retry(after: nil, DeferralReason("unknownMethod")))
        #expect(unknown.verdicts[1] == .retry(after: nil), "an error without a type has no reason")
    }

    @Test(arguments: ["accountNotFound", "accountNotSupportedByMethod", "forbidden"])
    func `a refused account fails the push as a whole`(type: String) {
        #expect(throws: RemoteFailure.forbidden("The server refuses this account.")) {
            try answer(Self.projectTaken, ["error", ["type": .string(type)], "0"])
        }
    }

    @Test(arguments: ["2", "-1", "x", "", "99999999999999999999"])
    func `an answer to an unknown call is ignored`(callID: String) throws {
        let answer = try answer(
            Self.stepsTaken, Self.projectTaken, ["error", ["type": "forbidden"], .string(callID)],
            ["step/set", ["newState": "e9.9", "notUpdated": ["b": ["type": "forbidden"]]], .string(callID)])
        #expect(answer.verdicts == Array(repeating: .accepted(seq: 7), count: 4))
        #expect(answer.epoch == "e1")
    }

    @Test func `a verdict on a row that was not pushed is ignored`() throws {
        let answer = try answer(
            ["step/set", ["newState": "x", "updated": ["y": nil], "notCreated": ["z": ["type": "forbidden"]]], "0"])
        #expect(answer.verdicts == Array(repeating: .retry(after: nil), count: 4))
        #expect(answer.epoch == nil, "this version does not know the state's form")
    }

    // MARK: - Damage

    @Test(arguments: 1...40)
    func `V1 any damaged answer gives one verdict for each row, or one failure`(seed: UInt64) throws {
        let whole = JSON.response([
            Self.stepsTaken,
            [
                "project/set",
                [
                    "newState": "e1.7", "updated": ["p": ["name": "won", "@hlc": "0000000000000001-A", "@gen": 1]],
                    "notUpdated": ["p": ["type": "rateLimit", "retryAfter": 3, "by": ["step:a"]]],
                ], "1",
            ], ["error", ["type": "unknownMethod"], "1"],
        ])
        var damage = JSONDamage(seed: seed)
        var read = 0
        for round in 0..<250 {
            let json = round.isMultiple(of: 2) ? damage.damaged(whole) : try? JSON(parsing: damage.damaged(whole.bytes))
            guard let json, let response = Response(json: json) else { continue }
            read += 1
            do {
                #expect(try Self.call.answer(from: response).verdicts.count == 4)
            } catch {
                #expect(error is RemoteFailure)
            }
        }
        #expect(read > 5, "many of the damaged answers can still be read")
    }

    @Test func `a push answer cut off at any byte is unreadable`() {
        let bytes = JSON.response([Self.stepsTaken, Self.projectTaken]).bytes
        for end in bytes.indices { #expect(throws: (any Error).self) { try JSON(parsing: bytes[..<end]) } }
    }
}
