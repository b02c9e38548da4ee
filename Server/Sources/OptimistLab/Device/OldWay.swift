// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import HTTPTypes
import Optimist
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistWire

/// The planner's writes in the app of the first story: to the server first, in up to three attempts, then locally, then
/// to the screen. If the server does not answer, the input is lost.
struct OldWay: PlannerWriting {
    let phone: RunningPhone

    func add(_ todo: LabTodo) async throws -> Written {
        var values: JSONObject = [
            "content": .string(todo.content), "date": .string(todo.date), "priority": .int(Int64(todo.priority)),
            "done": .bool(todo.done),
        ]
        if let alarm = todo.alarm { values["alarm"] = .string(alarm.ISO8601Format()) }
        return try await write(todo.id, ["create": .object([todo.id.uuidString.lowercased(): .object(values)])])
    }

    func change(_ id: UUID, _ edit: TodoEdit) async throws -> Written {
        var values = JSONObject()
        if let content = edit.content { values["content"] = .string(content) }
        if let date = edit.date { values["date"] = .string(date) }
        if let priority = edit.priority { values["priority"] = .int(Int64(priority)) }
        if let done = edit.done { values["done"] = .bool(done) }
        if let alarm = edit.alarm { values["alarm"] = .string(alarm.ISO8601Format()) }
        return try await write(id, ["update": .object([id.uuidString.lowercased(): .object(values)])])
    }

    func delete(_ id: UUID) async throws -> Written {
        try await write(id, ["destroy": [.string(id.uuidString.lowercased())]])
    }

    private func write(_ id: UUID, _ changes: JSONObject) async throws -> Written {
        let stopwatch = Stopwatch(ContinuousClock())
        let seq = try await send(changes)
        phone.sync.syncNow()
        try await phone.whileOn { [store = phone.store] in
            for await state in store.observe(Self.cursor) where state.value ?? 0 >= seq { break }
        }
        let todo = try await phone.todos(on: nil).first { $0.id == id }
        let elapsed = stopwatch() / .milliseconds(1)
        return Written(todo: todo, localMs: elapsed, shownMs: elapsed)
    }

    /// Sends a `/set` without row sync. Returns the number of its transaction.
    private func send(_ changes: JSONObject) async throws -> Int64 {
        do {
            let discovery = try await phone.session.send(SessionRequest("/.well-known/jmap"))
            guard let resource = SessionResource(json: try JSON(parsing: discovery.body)),
                let account = resource.primaryAccount
            else { throw Self.failed(nil) }
            var arguments = changes
            arguments["accountId"] = .string(account)
            let request = Request(
                using: [RowSync.core, RowSync.capability], methodCalls: [Invocation("todo/set", arguments, callID: "0")]
            )
            let sent = try await phone.session.send(
                SessionRequest(
                    resource.apiURL, method: .post, headerFields: [.contentType: "application/json"],
                    body: request.json.bytes,
                    isRepeatable: true))
            guard
                let answer = Response(json: try JSON(parsing: sent.body))?.methodResponses.first.flatMap({
                    SetAnswer(json: $0.arguments)
                }),
                let state = SyncState(answer.newState)
            else { throw Self.failed(nil) }
            if let refusal = (answer.notCreated + answer.notUpdated + answer.notDestroyed).first?.error {
                throw Self.refused(refusal)
            }
            return state.seq
        } catch let error as OptimistError where error.code == .oldWayFailed {
            throw error
        } catch {
            throw Self.failed(error)
        }
    }

    /// The last transaction that this phone has received.
    private static func cursor(_ db: Database) throws -> Int64 {
        let cursor = try String.fetchOne(
            db,
            sql: """
                SELECT cursor FROM optimist_progress JOIN optimist_table ON number = tbl
                WHERE scope = 0 AND name = 'todo'
                """)
        return cursor.flatMap { SyncState($0)?.seq } ?? 0
    }

    private static func refused(_ error: SetError) -> OptimistError {
        OptimistError(
            .oldWayFailed, "The old way: the server refused it, so nothing is shown. \(error.description ?? error.type)"
        )
    }

    private static func failed(_ cause: (any Error)?) -> OptimistError {
        OptimistError(
            .oldWayFailed, "The old way: the server did not answer, so nothing was written and nothing is shown.",
            cause: cause)
    }
}
