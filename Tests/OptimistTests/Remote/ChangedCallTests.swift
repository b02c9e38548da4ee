// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import Optimist
@_spi(Internals) @testable import OptimistWire

/// How the question for changed spaces becomes a request, and its answer a list of spaces.
struct ChangedCallTests {
    private static let (home, work) = ("00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b")
    private static let (homeAccount, workAccount) =
        ("s0000000000004000800000000000000a", "s0000000000004000800000000000000b")
    private static let call = ChangedCall(since: [work: "e1.5", home: "e1.3"], account: "u1", schemaVersion: 3)

    private func answer(_ arguments: JSON, _ name: JSON = "RowSync/changed") throws -> ChangedSpaces {
        try Self.call.answer(from: #require(Response(json: .response([[name, arguments, "0"]]))))
    }

    @Test func `the question names the state of each space's account, and asks for the own account's`() {
        let call = Self.call.request.methodCalls[0]
        #expect(Self.call.request.methodCalls.count == 1)
        #expect(call.name == "RowSync/changed")
        #expect(call.arguments == ["states": .object([Self.homeAccount: "e1.3", Self.workAccount: "e1.5", "u1": ""])])
        #expect(Self.call.request.schemaVersion == 3)
    }

    @Test func `P8 the answer names the changed spaces, and the reason of each end`() throws {
        let changed = try answer([
            "changed": .object([Self.homeAccount: "e1.9", "u1": "e1.4"]),
            "ended": .object([Self.workAccount: ["reason": "left", "seq": 7]]),
            "notFound": [],
        ])
        var expected = ChangedSpaces(changed: [Self.home], ended: [Self.work: EndedAccess(.left)])
        expected.epoch = "e1"
        #expect(changed == expected)
    }

    @Test(arguments: ["e1", "e2"])
    func `P8 P12 a space that the server does not know has ended only in the epoch of its cursor`(epoch: String) throws
    {
        let own = JSON.string("\(epoch).4")
        let told = try answer(
            ["changed": .object(["u1": own]), "ended": [:], "notFound": [.string(Self.workAccount)]])
        #expect(told.missing == [Self.work] && told.epoch == epoch)
        #expect(told.end(of: Self.work, at: "e1.5") == (epoch == "e1" ? EndedAccess(.deleted) : nil))
        #expect(told.end(of: Self.work, at: nil) == nil)
        #expect(told.end(of: Self.home, at: "e1.3") == nil)
        var unknown = told
        unknown.epoch = nil
        #expect(unknown.end(of: Self.work, at: "e1.5") == nil)
    }

    @Test func `a server without the method leaves the question open, and other failures are failures`() throws {
        #expect(try answer(["type": "unknownMethod"], "error") == ChangedSpaces(changed: [Self.home, Self.work]))
        #expect(throws: RemoteFailure.unreachable("serverUnavailable")) {
            try answer(["type": "serverUnavailable"], "error")
        }
        #expect(throws: RemoteFailure.unreachable("unreadable list of changed spaces")) { try answer(["changed": []]) }
    }
}
