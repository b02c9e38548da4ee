// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire

/// What a person does on the planner's screen.
protocol PlannerWriting: Sendable {
    func add(_ todo: LabTodo) async throws -> Written
    func change(_ id: UUID, _ edit: TodoEdit) async throws -> Written
    func delete(_ id: UUID) async throws -> Written
}

/// A write with the time until it was durable and the time until the screen showed it.
struct Written: Sendable {
    var todo: ShownTodo?
    var localMs: Double
    var shownMs: Double
}

/// What the planner's screen does, as an app would write it.
extension RunningPhone: PlannerWriting {
    func todos(on date: String?) async throws -> [ShownTodo] {
        try await store.read { try ShownTodo.fetchAll($0) }.filter { date == nil || $0.date == date }
    }

    /// Adds a to-do: durable and on the screen when this returns, whatever the network does.
    func add(_ todo: LabTodo) async throws -> Written {
        news.tell(.write, todo.content, row: todo.id)
        return try await write(todo.id) { try todo.insert($0) }
    }

    /// - Throws: `OptimistError` with code `notInLab` when there is no such to-do.
    func change(_ id: UUID, _ edit: TodoEdit) async throws -> Written {
        news.tell(.write, edit.content, row: id)
        return try await write(id) { db in
            guard var todo = try LabTodo.fetchOne(db, key: id) else { throw Self.missing(id) }
            edit.apply(to: &todo)
            try todo.update(db)
        }
    }

    func delete(_ id: UUID) async throws -> Written {
        news.tell(.write, "delete", row: id)
        return try await write(id) { db in
            guard try LabTodo.deleteOne(db, key: id) else { throw Self.missing(id) }
        }
    }

    private func write(_ id: UUID, _ updates: @escaping @Sendable (Database) throws -> Void) async throws -> Written {
        let stopwatch = Stopwatch(ContinuousClock())
        var number = screen.number
        let written = try await store.write { db in
            try updates(db)
            return try ShownTodo.fetchOne(db, id: id)
        }
        let local = stopwatch()
        var newest = written
        while await !screen.wait(since: number, until: { [newest] in Self.isShown(newest, id, in: $0) }) {
            // Another write may have overtaken this one: then the screen never shows it, but something newer.
            number = screen.number
            newest = try await store.read { try ShownTodo.fetchOne($0, id: id) }
        }
        return Written(todo: written, localMs: local / .milliseconds(1), shownMs: stopwatch() / .milliseconds(1))
    }

    private static func isShown(_ todo: ShownTodo?, _ id: UUID, in todos: [ShownTodo]) -> Bool {
        guard let shown = todos.first(where: { $0.id == id }) else { return todo == nil }
        return todo.map { shown.looksLike($0) } ?? false
    }

    private static func missing(_ id: UUID) -> OptimistError {
        OptimistError(.notInLab, "There is no to-do \(id.uuidString.lowercased()) on this phone.")
    }
}
