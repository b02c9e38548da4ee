// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire

protocol PlannerWriting: Sendable {
    func add(_ todo: LabTodo) async throws -> Written
    func change(_ id: UUID, _ edit: TodoEdit) async throws -> Written
    func delete(_ id: UUID) async throws -> Written
}

/// A write, with the times until it was durable and until the screen showed it.
struct Written: Sendable {
    var todo: ShownTodo?
    var localMs: Double
    var shownMs: Double
}

/// Writes like an app would.
extension RunningPhone: PlannerWriting {
    func todos(on date: String?) async throws -> [ShownTodo] {
        try await store.read { try ShownTodo.fetchAll($0) }.filter { date == nil || $0.date == date }
    }

    /// When this returns, the to-do is durable and on screen, regardless of the network.
    func add(_ todo: LabTodo) async throws -> Written {
        news.tell(.write, todo.content, row: todo.id)
        return try await write(todo.id) { try todo.insert($0) }
    }

    /// - Throws: `OptimistError` with code `notInLab` if the to-do does not exist.
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
            // A newer write may have overtaken this one, so that the screen only shows the newer state.
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
        OptimistError(.notInLab, "The to-do \(id.uuidString.lowercased()) does not exist on this phone.")
    }
}
