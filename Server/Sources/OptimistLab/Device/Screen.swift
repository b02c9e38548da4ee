// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import Synchronization

/// A phone's screen: the latest result of its live query.
final class Screen: Sendable {
    private struct Waiting: Sendable {
        var isShown: @Sendable ([ShownTodo]) -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var todos: [ShownTodo] = []
        var number = 0
        var isOff = false
        var waiting: [Waiting] = []
    }

    private let state = Mutex(State())
    private let news: NewsDesk

    init(news: NewsDesk) { self.news = news }

    func follow(_ store: Store) async {
        var isFirst = true
        for await state in store.observe({ try ShownTodo.fetchAll($0) }) {
            // The store logs a failure, and the screen keeps the last result.
            guard let todos = try? state.get() else { continue }
            let (before, waiting) = show(todos)
            if !isFirst { report(from: before, to: todos) }
            isFirst = false
            for one in waiting { one.continuation.resume(returning: one.isShown(todos)) }
            news.changed(.todos, .outbox)
        }
    }

    var number: Int { state.withLock { $0.number } }

    /// Waits until the screen shows an expected state, or another new state.
    ///
    /// A live query may skip states, so the screen may never show the expected one. The caller then waits for the
    /// current state.
    ///
    /// - Parameter number: The screen's ``number`` before the state was written or read.
    /// - Returns: Whether the screen shows the expected state. Also true when the phone is switched off.
    func wait(since number: Int, until isShown: @escaping @Sendable ([ShownTodo]) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.isOff || isShown(state.todos) { return true }
                if state.number > number { return false }
                state.waiting.append(Waiting(isShown: isShown, continuation: continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func blank() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state = State(isOff: true)
            return waiting
        }
        for one in waiting { one.continuation.resume(returning: true) }
    }

    private func show(_ todos: [ShownTodo]) -> (before: [ShownTodo], waiting: [Waiting]) {
        state.withLock { state in
            let (before, waiting) = (state.todos, state.waiting)
            state.todos = todos
            state.number += 1
            state.waiting = []
            return (before, waiting)
        }
    }

    private func report(from before: [ShownTodo], to after: [ShownTodo]) {
        let old = Dictionary(before.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        for todo in after {
            for kind in Self.kinds(old[todo.id], todo) { news.tell(kind, todo.content, row: todo.id) }
        }
        let ids = Set(after.map(\.id))
        for todo in before where !ids.contains(todo.id) && todo.sync == "synced" {
            news.tell(.seen, "deleted: \(todo.content)", row: todo.id)
        }
    }

    /// Returns the timeline events for the change of a row.
    static func kinds(_ old: ShownTodo?, _ new: ShownTodo) -> [TimelineEvent.Kind] {
        let isMine = new.sync == "pending" || new.sync == "inFlight"
        guard let old else { return new.sync == "synced" ? [.received, .seen] : [.shown] }
        var kinds: [TimelineEvent.Kind] = []
        if !old.looksLike(new) { kinds += isMine ? [.shown] : old.sync == "synced" ? [.received, .seen] : [.merged] }
        if new.sync == old.sync { return kinds }
        switch new.sync {
        case "inFlight": kinds.append(.sent)
        case "synced" where kinds.isEmpty: kinds.append(.accepted)
        case "rejected": kinds.append(.rejected)
        default: break
        }
        return kinds
    }
}
