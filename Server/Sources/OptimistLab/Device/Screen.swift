// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist
import Synchronization

/// What a phone shows: the newest result of its live query, and what changed from one to the next.
final class Screen: Sendable {
    private struct State {
        var todos: [ShownTodo] = []
        var waiting: [(isShown: @Sendable ([ShownTodo]) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let news: NewsDesk

    init(news: NewsDesk) { self.news = news }

    /// Follows a store's to-dos until the task is cancelled.
    func follow(_ store: Store) async {
        var isFirst = true
        for await todos in store.observe({ try ShownTodo.fetchAll($0) }) {
            let (before, ready) = show(todos)
            if !isFirst { report(from: before, to: todos) }
            isFirst = false
            for waiting in ready { waiting.resume() }
            news.changed("todos", "outbox")
        }
    }

    /// Waits until the screen shows what it is asked for.
    func wait(until isShown: @escaping @Sendable ([ShownTodo]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isShownNow = state.withLock { state in
                if isShown(state.todos) { return true }
                state.waiting.append((isShown, continuation))
                return false
            }
            if isShownNow { continuation.resume() }
        }
    }

    /// Lets everybody go who waits, as the phone is switched off.
    func blank() {
        let waiting = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for waiting in waiting { waiting.resume.resume() }
    }

    private func show(_ todos: [ShownTodo]) -> (before: [ShownTodo], ready: [CheckedContinuation<Void, Never>]) {
        state.withLock { state in
            let before = state.todos
            state.todos = todos
            let ready = state.waiting.filter { $0.isShown(todos) }.map(\.resume)
            state.waiting.removeAll { $0.isShown(todos) }
            return (before, ready)
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

    /// What the change of one row means.
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
