// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import Optimist
import OptimistWire

struct TodoAnswer: ResponseEncodable {
    var id: String
    var content: String
    var date: String
    var priority: Int
    var done: Bool
    var alarm: String?
    var sync: String

    init(_ todo: ShownTodo) {
        id = todo.id.uuidString.lowercased()
        content = todo.content
        date = todo.date
        priority = todo.priority
        done = todo.done
        alarm = todo.alarm?.ISO8601Format()
        sync = todo.sync
    }
}

/// The resulting row, and the times until it was durable and until the screen showed it.
struct WriteAnswer: ResponseEncodable {
    var todo: TodoAnswer?
    var localMs: Double
    var shownMs: Double

    init(_ written: Written) {
        todo = written.todo.map(TodoAnswer.init)
        localMs = written.localMs
        shownMs = written.shownMs
    }
}

struct OutboxAnswer: ResponseEncodable {
    var table: String
    var id: String
    var kind: String
    var columns: [String]
    var since: String
    var sent: Bool

    init(_ row: PendingRow) {
        table = row.table
        id = row.rowID
        kind = row.kind.rawValue
        columns = row.columns.keys.sorted()
        since = row.since.ISO8601Format(.withMilliseconds)
        sent = row.isInFlight
    }
}

extension Rejection {
    var controlJSON: JSON {
        [
            "number": .int(id), "table": .string(table), "id": .string(rowID), "kind": .string(kind.rawValue),
            "code": .string(code), "column": column.map(JSON.string) ?? .null, "message": .string(message),
            "mine": .object(mine), "server": theirs.map(JSON.object) ?? .null,
            "at": .string(date.ISO8601Format(.withMilliseconds)),
        ]
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    /// `2026-11-21T10:00:00.123Z`
    static var withMilliseconds: Self { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }
}

struct EmptyAnswer: ResponseEncodable {}

struct JSONAnswer: ResponseGenerator {
    let json: JSON

    init(_ json: JSON) { self.json = json }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(bytes: json.bytes)))
    }
}
