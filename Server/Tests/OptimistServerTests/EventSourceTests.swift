// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistServer

@Suite(.timeLimit(.minutes(20)))
struct EventSourceTests {
    let site = Site()

    private let todo: JSON = ["create": ["k": ["content": "x"]]]

    @Test func `R7: the state arrives immediately, then a poke for each change, and none for another account`()
        async throws
    {
        try await site.serving { server, http async throws in
            let (mine, theirs) = (try await http.signUp("a@x.org"), try await http.signUp("b@x.org"))
            var states: [String] = []
            try await http.events(token: mine.access) { event, data in
                #expect(event == "state" && data["@type"] == "StateChange")
                #expect(data["changed"]?.object?.members.map(\.key) == [mine.account])
                states.append(data["changed"]?[mine.account]?["todo"]?.string ?? "")
                if states.count == 1 {
                    _ = try await server.call(theirs, "todo/set", todo)
                    _ = try await server.call(mine, "todo/set", todo)
                } else {
                    return true
                }
                await site.sleepers(atLeast: 1)
                site.clock.advance(by: .milliseconds(50))
                return false
            }
            #expect(states == ["\(server.epoch).0", "\(server.epoch).1"])
        }
    }

    @Test func `one connection's pokes are 50 ms apart, and the last state always arrives`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            var states: [String] = []
            try await http.events(token: person.access) { _, data in
                states.append(data["changed"]?[person.account]?["todo"]?.string ?? "")
                if states.count == 2 { return true }
                for _ in 0..<5 { _ = try await server.call(person, "todo/set", todo) }
                await site.sleepers(atLeast: 1)
                site.clock.advance(by: .milliseconds(50))
                return false
            }
            #expect(states.last == "\(server.epoch).5")
        }
    }

    @Test func `pings arrive at the requested interval`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            var events: [String] = []
            try await http.events("types=*&closeafter=no&ping=30", token: person.access) { event, data in
                events.append(event)
                if event == "ping" {
                    #expect(data["interval"] == 30)
                    return true
                }
                // The ping timer, and the pause after the state.
                await site.sleepers(atLeast: 2)
                site.clock.advance(by: .seconds(30))
                return false
            }
            // A state is a hint, and may be repeated.
            #expect(events.last == "ping" && Set(events.dropLast()) == ["state"])
        }
    }

    @Test func `a session's end is reported on its stream, which then closes`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            var reasons: [String?] = []
            try await http.events(token: person.access) { event, data in
                if event == "state" {
                    _ = try await http.post("/auth/sign-in", JSON.entry("a@example.org", device: "phone"))
                } else {
                    reasons.append(data["reason"]?.string)
                }
                return false
            }
            #expect(reasons == ["signed_in_elsewhere"])
        }
    }

    @Test func `closeafter=state closes after the first state, and unknown types are ignored`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            var count = 0
            try await http.events("types=todo,list&closeafter=state&ping=0", token: person.access) { _, _ in
                count += 1
                return false
            }
            #expect(count == 1)
        }
    }

    @Test func `a stream announces that it closes its connection`() async throws {
        try await site.serving { _, http async throws in
            let person = try await http.signUp()
            let answer = try await http.get("/jmap/eventsource?types=*&closeafter=state&ping=0", token: person.access)
            #expect(answer.headers["connection"] == ["close"])
            #expect(answer.body.starts(with: "event: state".utf8))
        }
    }

    @Test func `a client that leaves is forgotten, and the server can stop with open streams`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            try await http.events(token: person.access) { _, _ in true }
            while server.listenerCount > 0 { await Task.yield() }
            let stream = Task { try await http.events(token: person.access) { _, _ in false } }
            while server.listenerCount == 0 { await Task.yield() }
            await server.shutdown()
            try await stream.value
        }
    }
}
