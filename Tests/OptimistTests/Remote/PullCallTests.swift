// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import Optimist
@_spi(Internals) @testable import OptimistWire

/// How a pull becomes a request and its answer becomes a page, without a server or a store.
@Suite(.timeLimit(.minutes(20)))
struct PullCallTests {
    private static let pull = RemotePage.Request(
        tables: ["project", "step"], cursor: "e1.3", limit: 50, origins: ["A"])
    private static let call = PullCall([pull], account: "u", schemaVersion: 3)

    private static let projects: JSON = [
        "project/changes",
        [
            "oldState": "e1.3", "newState": "e1.9", "hasMoreChanges": true, "head": "e1.12",
            "list": [["id": "p", "name": "P", "@gen": 1, "@seq": 8]], "destroyed": [],
        ], "0",
    ]
    private static let steps: JSON = [
        "step/changes",
        [
            "oldState": "e1.3", "newState": "e1.9", "list": [["id": "a", "text": "one"]], "destroyed": ["b"],
            "destroyClocks": ["b": ["@gen": 2, "@seq": 9]],
        ], "1",
    ]
    private static let noSteps: JSON = ["step/changes", ["oldState": "e1.3", "newState": "e1.9", "list": []], "1"]

    private func page(_ responses: JSON...) throws -> RemotePage {
        try page(from: #require(Response(json: .response(responses))))
    }

    private func page(from response: Response) throws -> RemotePage {
        try #require(Self.call.pages(from: response).first).get()
    }

    // MARK: - The request

    @Test func `a pull is one call for each table, from one cursor`() {
        let request = Self.call.request
        #expect(request.methodCalls.map(\.name) == ["project/changes", "step/changes"])
        #expect(request.methodCalls.map(\.callID) == ["0", "1"])
        let arguments = ChangesCall(accountID: "u", sinceState: "e1.3", maxChanges: 50)
        #expect(request.methodCalls.map { ChangesCall(json: $0.arguments) } == [arguments, arguments])
        #expect(request.origins == ["A"])
        #expect(request.schemaVersion == 3)
        #expect(request.device == nil)
        #expect(request.push == nil)
    }

    @Test func `P16 a pull without spaces has the bytes that it had before there were spaces`() {
        let text = """
            {"using":["\(RowSync.core)","\(RowSync.capability)"],"origins":["A"],"schemaVersion":3,"methodCalls":\
            [["project/changes",{"accountId":"u","sinceState":"e1.3","maxChanges":50,"inline":true},"0"],\
            ["step/changes",{"accountId":"u","sinceState":"e1.3","maxChanges":50,"inline":true},"1"]]}
            """
        #expect(String(decoding: Self.call.request.json.bytes, as: UTF8.self) == text)
    }

    @Test func `P11 a pull of several accounts has a page or a failure for each`() throws {
        let space = "00000000-0000-4000-8000-00000000000a"
        let other = "00000000-0000-4000-8000-00000000000b"
        let pulls = [space, other, nil].map {
            RemotePage.Request(tables: ["step"], cursor: "e1.3", limit: 50, space: $0)
        }
        let call = PullCall(pulls, account: "u")
        #expect(
            call.request.methodCalls.map { $0.arguments["accountId"]?.string }
                == ["s0000000000004000800000000000000a", "s0000000000004000800000000000000b", "u"])
        func pages(_ second: JSON) throws -> [RemoteFailure?] {
            let page: JSON = ["oldState": "e1.3", "newState": "e1.9", "list": [], "member": "m"]
            let response = JSON.response([["step/changes", page, "0"], second, ["step/changes", page, "2"]])
            return try call.pages(from: #require(Response(json: response))).map { page in
                if case .failure(let failure) = page { return failure }
                #expect((try? page.get())?.member == "m")
                return nil
            }
        }
        for (error, failure) in [
            (["type": "accessEnded", "reason": "left"], .accessEnded(EndedAccess(.left))),
            (["type": "accessEnded"], .accessEnded(EndedAccess(.removed))),
            (["type": "accountNotFound"], .spaceNotFound), (["type": "cannotCalculateChanges"], .cursorLost),
        ] as [(JSON, RemoteFailure)] {
            #expect(try pages(["error", error, "1"]) == [nil, failure, nil])
        }
        #expect(try pages(["step/changes", [:], "1"]) == [nil, .unreachable("unreadable page"), nil])
    }

    // MARK: - Pages

    @Test func `R1 a page has the rows of all tables and their common state`() throws {
        let page = try page(Self.steps, Self.projects)
        #expect((page.from, page.cursor, page.head) == ("e1.3", "e1.9", "e1.12"))
        #expect(page.hasMore)
        let project = RowPatch(generation: 1, seq: 8, values: ["name": "P"])
        #expect(
            page.rows == [
                RemotePage.Row(table: "project", id: "p", content: .row(project)),
                RemotePage.Row(table: "step", id: "a", content: .row(RowPatch(values: ["text": "one"]))),
                RemotePage.Row(table: "step", id: "b", content: .deleted(Tombstone(generation: 2, clock: nil, seq: 9))),
            ])
        #expect(page.serverTime == Date(timeIntervalSince1970: 1_785_585_600))
        #expect(page.withheld.isEmpty)
        #expect(page.epochs.isEmpty)
    }

    @Test func `if no page follows, the page's state is also its head`() throws {
        let nothing: JSON = ["oldState": "e1.3", "newState": "e1.9", "head": "e1.12", "list": []]
        let page = try page(["project/changes", nothing, "0"], Self.noSteps)
        #expect(!page.hasMore)
        #expect(page.head == "e1.9")
        #expect(page.rows.isEmpty)
    }

    @Test func `L3 a page names the epochs of a restored server, or no epoch if one is unreadable`() throws {
        func epochs(_ json: JSON) throws -> [RemoteEpoch] {
            let arguments: JSON = ["oldState": "e1.3", "newState": "e1.9", "list": [], "epochs": json]
            return try page(Self.projects, ["step/changes", arguments, "1"]).epochs
        }
        let lives = [RemoteEpoch(name: "e0", firstSeq: 0), RemoteEpoch(name: "e1", firstSeq: 4)]
        #expect(try epochs(.array(lives.map(\.json))) == lives)
        #expect(try epochs([["epoch": "e0", "firstSeq": 0], ["epoch": "e1"]]).isEmpty)
        #expect(try epochs("e0").isEmpty)
    }

    @Test(
        arguments: [
            // A missing list, a missing state, a different state.
            ["oldState": "e1.3", "newState": "e1.9"], ["oldState": "e1.3", "list": []],
            ["oldState": "e1.3", "newState": "e1.8", "list": []], ["oldState": "e1.3", "newState": 9, "list": []],
            ["oldState": "e1.3", "newState": "", "list": []], ["newState": "e1.9", "list": []], [:],
            // Unreadable rows.
            ["oldState": "e1.3", "newState": "e1.9", "list": [["text": "one"]]],
            ["oldState": "e1.3", "newState": "e1.9", "list": ["a"]],
            ["oldState": "e1.3", "newState": "e1.9", "list": [["id": "a", "@gen": -1]]],
            ["oldState": "e1.3", "newState": "e1.9", "list": [["id": "a", "@hlc": "now"]]],
            ["oldState": "e1.3", "newState": "e1.9", "list": [], "destroyed": ["b"]],
            ["oldState": "e1.3", "newState": "e1.9", "list": [], "destroyed": ["b"], "destroyClocks": ["b": 2]],
            ["oldState": "e1.3", "newState": "e1.9", "list": [], "destroyed": [5]],
        ] as [JSON])
    func `R1 a partly unreadable page, or one whose tables end at different states, is refused`(steps: JSON) {
        let failure = RemoteFailure.unreachable("unreadable page")
        #expect(throws: failure) { try page(Self.projects, ["step/changes", steps, "1"]) }
        #expect(throws: failure) { try page(["project/changes", steps, "0"], Self.noSteps) }
    }

    @Test func `a page without one of the tables is refused`() {
        #expect(throws: RemoteFailure.unreachable("an answer without step")) { try page(Self.projects) }
        #expect(throws: RemoteFailure.unreachable("an answer without project")) { try page() }
    }

    // MARK: - Errors

    @Test(
        arguments: [
            (["type": "cannotCalculateChanges"], .cursorLost),
            (
                ["type": "forked", "epochs": [["epoch": "e0", "firstSeq": 0]]],
                .forked([RemoteEpoch(name: "e0", firstSeq: 0)])
            ),
            (["type": "forked"], .forked([])), (["type": "forked", "epochs": [["epoch": 0]]], .forked([])),
            (["type": "accountNotFound"], .forbidden("The server refuses this account.")),
            (["type": "forbidden"], .forbidden("The server refuses this account.")),
            (["type": "serverUnavailable"], .unreachable("serverUnavailable")),
            (["type": "neverHeardOf"], .unreachable("neverHeardOf")), ([:], .unreachable("an unknown error")),
            (["type": 5], .unreachable("an unknown error")),
        ] as [(JSON, RemoteFailure)])
    func `L4 an error of one table fails the page`(error: JSON, failure: RemoteFailure) {
        #expect(throws: failure) { try page(Self.projects, ["error", error, "1"]) }
    }

    @Test func `L1 a table that requires a newer app is left out of the page`() throws {
        let tooOld: JSON = ["error", ["type": "schemaTooOld"], "0"]
        let page = try page(tooOld, Self.steps)
        #expect(page.withheld == ["project": .upgradeRequired])
        #expect(page.rows.map(\.table) == ["step", "step"])
        #expect(page.cursor == "e1.9")
        #expect(throws: RemoteFailure.withheld(["project": .upgradeRequired, "step": .upgradeRequired])) {
            try self.page(tooOld, ["error", ["type": "schemaTooOld"], "1"])
        }
    }

    // MARK: - Damage

    @Test(arguments: 1...40)
    func `R1 any damaged answer gives one complete page or one failure`(seed: UInt64) throws {
        let whole = JSON.response([Self.projects, Self.steps])
        var damage = JSONDamage(seed: seed)
        var (pages, failures) = (0, 0)
        for round in 0..<250 {
            let json = round.isMultiple(of: 2) ? damage.damaged(whole) : try? JSON(parsing: damage.damaged(whole.bytes))
            guard let json, let response = Response(json: json) else { continue }
            do {
                let page = try page(from: response)
                pages += 1
                #expect(page.from == "e1.3")
                #expect(!page.cursor.isEmpty)
                #expect(page.hasMore || page.head == page.cursor)
                #expect(page.rows.allSatisfy { page.withheld[$0.table] == nil })
                #expect(page.rows.allSatisfy { $0.table == "project" || $0.table == "step" })
            } catch {
                failures += 1
                #expect(error is RemoteFailure)
            }
        }
        #expect(pages > 0 && failures > 0, "\(pages) pages, \(failures) failures")
    }

    @Test func `a pull answer cut off at any byte is unreadable`() {
        let bytes = JSON.response([Self.projects, Self.steps]).bytes
        for end in bytes.indices { #expect(throws: (any Error).self) { try JSON(parsing: bytes[..<end]) } }
    }
}
