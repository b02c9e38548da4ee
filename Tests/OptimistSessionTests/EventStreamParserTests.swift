// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistSession

@Suite(.timeLimit(.minutes(20)))
struct EventStreamParserTests {
    typealias Event = EventStreamParser.Event

    private func events(_ text: String) throws -> [Event] {
        var parser = EventStreamParser()
        return try parser.feed(text.utf8)
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `CR, LF and CRLF all end a line`(end: String) throws {
        let text = ["event: state", "data: a", "data: b", "id: 7", "", ""].joined(separator: end)
        #expect(try events(text) == [Event(event: "state", data: "a\nb", id: "7")])
    }

    /// > Source: the examples of WHATWG HTML, section 9.2.6.
    @Test func `the specification's examples are parsed as specified`() throws {
        #expect(try events("data: YHOO\ndata: +2\ndata: 10\n\n") == [Event(data: "YHOO\n+2\n10")])
        #expect(
            try events(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n")
                == [Event(data: "first event", id: "1"), Event(data: "second event")])
        #expect(try events("data\n\ndata\ndata\n\ndata:") == [Event(data: ""), Event(data: "\n")])
        #expect(try events("data:test\n\ndata: test\n\n") == [Event(data: "test"), Event(data: "test")])
    }

    @Test func `an event without data is dropped, and its name does not apply to the next`() throws {
        #expect(try events("event: state\n\ndata: x\n\n") == [Event(data: "x")])
    }

    @Test func `the last id stays until another arrives, and an id with a zero byte is ignored`() throws {
        var parser = EventStreamParser()
        let events = try parser.feed("id: 1\ndata: a\n\ndata: b\n\nid: 2\u{0}\ndata: c\n\nid: 3\n\n".utf8)
        #expect(events.map(\.id) == ["1", "1", "1"])
        #expect(parser.lastEventID == "3")
    }

    @Test func `a retry field that is not all digits is ignored`() throws {
        var parser = EventStreamParser()
        _ = try parser.feed("retry: 3000\n\nretry: soon\n\nretry: -1\n\nretry: 99999999999999999999999\n\n".utf8)
        #expect(parser.retry == .seconds(3))
    }

    @Test func `a byte order mark is skipped once, and only at the start`() throws {
        #expect(try events("\u{FEFF}data: a\n\n") == [Event(data: "a")])
        #expect(try events("\u{FEFF}\u{FEFF}data: a\n\n").isEmpty)
        #expect(try events("data: \u{FEFF}\n\n") == [Event(data: "\u{FEFF}")])
    }

    @Test(arguments: 1...100)
    func `chunks of any size give the same events`(seed: UInt64) throws {
        let bytes = Array("\u{FEFF}: hi\r\nevent: häuser\rdata: a\r\n\ndata: ü\n\nid: 4\ndata\r\r\ndata: end\n\n".utf8)
        var whole = EventStreamParser()
        let expected = try whole.feed(bytes)
        var random = SplitMix64(seed: seed)
        var parser = EventStreamParser()
        var found: [Event] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...6, using: &random)
            found += try parser.feed(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        #expect(found == expected)
        #expect(found.count == 4)
    }

    @Test func `an endless line or event is refused`() {
        #expect(throws: EventStreamParser.LimitExceeded.self) {
            var parser = EventStreamParser(limitBytes: 100)
            _ = try parser.feed([UInt8](repeating: 65, count: 101))
        }
        #expect(throws: EventStreamParser.LimitExceeded.self) {
            var parser = EventStreamParser(limitBytes: 100)
            while true { _ = try parser.feed("data:\n".utf8) }
        }
    }
}
