// This source file is part of the Optimist open source project, under the MIT licence.

/// Parses server-sent events from chunks of any size.
///
/// > Source: WHATWG HTML, section 9.2.6, "Interpreting an event stream".
package struct EventStreamParser: Sendable {
    /// The maximum size in bytes of a line, and of an event's data.
    package let limitBytes: Int
    /// The last event id, to send as `Last-Event-ID` when reconnecting. Empty if there was none.
    package private(set) var lastEventID = ""
    /// The reconnection delay that the server requests. Nil if it has not requested one.
    package private(set) var retry: Duration?

    private var line: [UInt8] = []
    private var event: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var pendingID: [UInt8]?
    private var followsCarriageReturn = false
    /// How many bytes of a byte order mark have been read, or nil after the start of the stream.
    private var markLength: Int? = 0

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Makes a parser for a new stream.
    ///
    /// - Parameter limitBytes: Default: 1 MiB.
    package init(limitBytes: Int = 1 << 20) { self.limitBytes = limitBytes }

    package struct Event: Hashable, Sendable {
        /// The event's type, by default `message`.
        package var event: String
        /// The data lines, joined by line feeds.
        package var data: String
        /// The latest id, from this or an earlier event. Empty if there was none.
        package var id: String

        package init(event: String = "message", data: String, id: String = "") {
            self.event = event
            self.data = data
            self.id = id
        }
    }

    /// A line or event exceeds the limit. The parser cannot continue.
    package struct LimitExceeded: Error {}

    /// Parses the next chunk and returns the events that it completes.
    ///
    /// Events without data are dropped, as are the bytes after the last blank line of a stream.
    ///
    /// - Parameter bytes: A chunk of any length.
    /// - Throws: ``LimitExceeded``.
    package mutating func feed(_ bytes: some Sequence<UInt8>) throws -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            if isPartOfMark(byte) { continue }
            switch byte {
            case UInt8(ascii: "\n") where followsCarriageReturn:
                followsCarriageReturn = false
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                followsCarriageReturn = byte == UInt8(ascii: "\r")
                if let event = try endLine() { events.append(event) }
            default:
                followsCarriageReturn = false
                guard line.count < limitBytes else { throw LimitExceeded() }
                line.append(byte)
            }
        }
        return events
    }

    /// Skips a byte order mark, even across chunks. A partial mark belongs to the first line.
    private mutating func isPartOfMark(_ byte: UInt8) -> Bool {
        guard let length = markLength else { return false }
        if byte == Self.mark[length] {
            markLength = length + 1 < Self.mark.count ? length + 1 : nil
            return true
        }
        line += Self.mark[..<length]
        markLength = nil
        return false
    }

    private mutating func endLine() throws -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        try take(field: String(decoding: line[..<colon], as: UTF8.self), Array(value))
        return nil
    }

    private mutating func take(field: String, _ value: [UInt8]) throws {
        switch field {
        case "event":
            event = value
        case "data":
            guard data.count + value.count < limitBytes else { throw LimitExceeded() }
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        case "id" where !value.contains(0):
            pendingID = value
        case "retry" where !value.isEmpty && value.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }:
            retry = Int(String(decoding: value, as: UTF8.self)).map { .milliseconds($0) } ?? retry
        default:
            break  // A comment or an unknown field.
        }
    }

    private mutating func endEvent() -> Event? {
        defer {
            event = []
            data = []
            hasData = false
            pendingID = nil
        }
        if let pendingID { lastEventID = String(decoding: pendingID, as: UTF8.self) }
        guard hasData else { return nil }
        let name = event.isEmpty ? "message" : String(decoding: event, as: UTF8.self)
        return Event(event: name, data: String(decoding: data, as: UTF8.self), id: lastEventID)
    }
}
