// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

@Suite(.timeLimit(.minutes(20)))
struct EventTests {
    private func state(_ seq: Int64) -> SyncState { SyncState(epoch: "e", seq: seq) }

    @Test func `R7: however many changes there were, one event carries the newest state and all types`() {
        var pending = PendingEvents()
        pending.note(["todo"], state(42))
        pending.note(["list"], state(41))
        pending.notePing()
        #expect(
            pending.take(account: "a", pingSeconds: 30) == .state(account: "a", types: ["list", "todo"], state(42)))
        pending.note(["todo"], state(43))
        #expect(pending.take(account: "a", pingSeconds: 30) == nil)
        pending.noteRested()
        #expect(pending.take(account: "a", pingSeconds: 30) == .state(account: "a", types: ["todo"], state(43)))
        pending.noteRested()
        pending.notePing()
        #expect(pending.take(account: "a", pingSeconds: 30) == .ping(seconds: 30))
    }

    @Test func `a session's end is its stream's last event`() {
        var pending = PendingEvents()
        pending.note(["todo"], state(1))
        pending.noteEnd("revoked")
        pending.noteEnd("signed_in_elsewhere")
        #expect(pending.take(account: "a", pingSeconds: 30) == .sessionEnded(reason: "revoked"))
    }

    @Test func `events are formatted as in RFC 8620`() {
        let event = ServerEvent.state(account: "a1", types: ["todo"], state(7))
        #expect(
            event.text == """
                event: state
                id: e.7
                data: {"@type":"StateChange","changed":{"a1":{"todo":"e.7"}}}


                """)
        #expect(
            ServerEvent.sessionEnded(reason: "revoked").text == "event: session\ndata: {\"reason\":\"revoked\"}\n\n")
    }

    @Test func `a listener receives only its account, types and session`() {
        let pokes = Pokes()
        let mine = Listener(account: "a", session: "s1", types: ["todo"])
        let other = Listener(account: "b", session: "s2", types: nil)
        pokes.add(mine)
        pokes.add(other)
        pokes.changed(account: "a", types: ["list"], state: state(1))
        #expect(mine.takeEvent(pingSeconds: 0) == nil)
        pokes.changed(account: "a", types: ["todo"], state: state(2))
        #expect(mine.takeEvent(pingSeconds: 0) == .state(account: "a", types: ["todo"], state(2)))
        #expect(other.takeEvent(pingSeconds: 0) == nil)
        pokes.ended(account: "a", session: "s9", reason: .revoked)
        #expect(mine.takeEvent(pingSeconds: 0) == nil)
        pokes.ended(account: "a", session: "s1", reason: .revoked)
        #expect(mine.takeEvent(pingSeconds: 0) == .sessionEnded(reason: "revoked"))
        pokes.remove(mine)
        #expect(pokes.count == 1)
    }
}
