// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

@Suite(.timeLimit(.minutes(20)))
struct EventTests {
    private func change(_ types: Set<String>, _ state: SyncState) -> PendingEvents.Change {
        PendingEvents.Change(types: types, state: state)
    }

    private func state(_ seq: Int64) -> SyncState { SyncState(epoch: "e", seq: seq) }

    @Test func `R7: however many changes there were, one event carries the newest state and all types`() {
        var pending = PendingEvents()
        pending.note(change(["todo"], state(42)), of: "a")
        pending.note(change(["list"], state(41)), of: "a")
        pending.notePing()
        #expect(
            pending.take(pingSeconds: 30) == .state(["a": change(["list", "todo"], state(42))]))
        pending.note(change(["todo"], state(43)), of: "a")
        #expect(pending.take(pingSeconds: 30) == nil)
        pending.noteRested()
        #expect(pending.take(pingSeconds: 30) == .state(["a": change(["todo"], state(43))]))
        pending.noteRested()
        pending.notePing()
        #expect(pending.take(pingSeconds: 30) == .ping(seconds: 30))
    }

    @Test func `a session's end is its stream's last event`() {
        var pending = PendingEvents()
        pending.note(change(["todo"], state(1)), of: "a")
        pending.noteEnd("revoked")
        pending.noteEnd("signed_in_elsewhere")
        #expect(pending.take(pingSeconds: 30) == .sessionEnded(reason: "revoked"))
    }

    @Test func `events are formatted as in RFC 8620`() {
        let event = ServerEvent.state(["a1": change(["todo"], state(7))])
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
        let other = Listener(account: "b", session: "s2", types: ["todo", "list"])
        pokes.add(mine)
        pokes.add(other)
        pokes.changed(account: "a", types: ["list"], state: state(1))
        #expect(mine.takeEvent(pingSeconds: 0) == nil)
        pokes.changed(account: "a", types: ["todo"], state: state(2))
        #expect(mine.takeEvent(pingSeconds: 0) == .state(["a": change(["todo"], state(2))]))
        #expect(other.takeEvent(pingSeconds: 0) == nil)
        pokes.ended(account: "a", session: "s9", reason: .revoked)
        #expect(mine.takeEvent(pingSeconds: 0) == nil)
        pokes.ended(account: "a", session: "s1", reason: .revoked)
        #expect(mine.takeEvent(pingSeconds: 0) == .sessionEnded(reason: "revoked"))
        pokes.remove(mine)
        #expect(pokes.count == 1)
    }

    // MARK: - Spaces

    @Test func `P8 a listener hears of the change that removes it, and of none after it`() {
        let listener = Listener(account: "bob", session: "s", types: ["todo"])
        var audience = Audience(of: "space")
        audience.add(listener)
        func hear(_ seq: Int64, changesMembers: Bool = false) -> Int {
            audience.hear(state(seq), changesMembers: changesMembers).count
        }
        func learn(_ seq: Int64, _ isMember: Bool) -> (Int, SyncState) {
            let (listeners, told) = audience.learn(at: state(seq)) { _ in isMember }
            return (listeners.count, told)
        }
        // No listener hears before the members are known.
        let counts = [hear(1), learn(1, true).0, hear(2), hear(3, changesMembers: true), hear(4)]
        #expect(counts == [0, 1, 1, 1, 0])
        // Members that were read before the change are ignored.
        let late = learn(2, true).0
        #expect(late == 0 && audience.isUnsure)
        let removed = [learn(3, false).0, hear(5)]
        #expect(removed == [0, 0] && !audience.isUnsure)
        // A person who joins again gets the latest state.
        _ = hear(6, changesMembers: true)
        _ = hear(7)
        let (back, told) = learn(6, true)
        #expect(back == 1 && told == state(7))
    }

    @Test func `the members are read by one reader at a time, until they are known`() {
        var audience = Audience(of: "space")
        audience.add(Listener(account: "bob", session: "s", types: ["todo"]))
        let begun = [audience.beginReading(), audience.beginReading()]
        #expect(begun == [true, false])
        _ = audience.hear(state(2), changesMembers: true)
        _ = audience.learn(at: state(1)) { _ in true }
        let isDoneEarly = audience.endReading(givingUp: false)
        _ = audience.learn(at: state(2)) { _ in true }
        let isDone = audience.endReading(givingUp: false)
        #expect(!isDoneEarly && isDone)
        let isNeeded = audience.beginReading()
        _ = audience.hear(state(3), changesMembers: true)
        let again = [audience.beginReading(), audience.endReading(givingUp: true), audience.beginReading()]
        #expect(!isNeeded && again == [true, true, true])
    }

    @Test func `P15 more than 200 listeners of a space are poked at 500 in a second`() async {
        let clock = ManualClock()
        let pokes = Pokes(dependencies: Dependencies(clock: clock))
        let listeners = (0..<201).map { Listener(account: "p\($0)", session: "s", types: ["todo"]) }
        for listener in listeners {
            pokes.add(listener)
            pokes.follow(listener.account, ["space"], ["space": state(1)], telling: nil)
            _ = listener.takeEvent(pingSeconds: 0)
            listener.rested()
        }
        func told() -> Int { listeners.count { $0.takeEvent(pingSeconds: 0) != nil } }
        pokes.changed(account: "space", types: ["todo"], state: state(2))
        var counts: [Int] = []
        for _ in 0..<5 {
            await clock.sleepers(atLeast: 1)
            counts.append(told())
            clock.advance(by: .milliseconds(100))
        }
        #expect(counts == [50, 50, 50, 50, 1])
    }
}
