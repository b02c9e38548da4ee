// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Observation
public import Optimist

/// An observable query result, updated whenever a committed transaction changes it.
///
/// If the query fails, the last result stays, ``failure`` has the error, and the query is retried automatically.
///
/// `@LiveQuery` has such a model for each view. An app with its own models can follow a query directly:
///
/// ```swift
/// @State private var open = LiveQueryModel(0)
///
/// Text("\(open.value) open")
///     .task { await open.follow(store) { try Todo.filter(Column("done") == false).fetchCount($0) } }
/// ```
@MainActor
@Observable
public final class LiveQueryModel<Value: Equatable & Sendable> {
    /// The latest result, or the initial value before the first result.
    public private(set) var value: Value
    /// Whether ``value`` is a result of the current query. Until the query's first result arrives, this is false and
    /// ``value`` is an earlier value. If this is true and the result is empty, there are no rows.
    public private(set) var isLoaded = false
    /// Why the current query fails, for example because it cannot decode a value written by a newer app, or because the
    /// store did not open. ``value`` keeps its last result. Nil if the query does not fail.
    public private(set) var failure: (any Error)?

    @ObservationIgnored private var life = QueryLife<Key>()
    @ObservationIgnored private var lastMark: LiveRequest<Value>.Mark?
    @ObservationIgnored private var following: Task<Void, Never>?
    @ObservationIgnored private var comparison: Task<Void, Never>?
    /// Increases with each query, so that late results of an earlier query are ignored.
    @ObservationIgnored private(set) var turn = 0

    private struct Key: Equatable {
        var store: ObjectIdentifier
        var request: AnyHashable
    }

    /// Creates a model that shows an initial value until the first result arrives.
    public init(_ initial: Value) { value = initial }

    deinit {
        following?.cancel()
        comparison?.cancel()
    }

    /// Keeps ``value`` up to date until the task is cancelled, or until `follow` is called again.
    ///
    /// - Parameters:
    ///   - store: The store to read.
    ///   - fetch: Runs on a reading thread. If the closure throws, the error is in ``failure``, and the closure runs
    ///     again after a backoff and after the next commit that changes the data it reads.
    public func follow(_ store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) async {
        turn += 1
        let own = turn
        (isLoaded, failure) = (false, nil)
        for await state in store.observe(fetch) {
            guard own == turn else { return }
            take(state)
        }
    }

    // MARK: - Support for the property wrapper

    /// Follows a view's query while the view is visible. If the store did not open, ``failure`` has the error.
    func show(_ request: LiveRequest<Value>, in store: StoreAccess, isVisible: Bool) {
        do { show(request, in: try store.store, isVisible: isVisible) } catch {
            show(request, in: nil as Store?, isVisible: isVisible)
            // Do not notify a view that was only redrawn.
            if failure == nil { failure = error }
        }
    }

    /// Follows a view's query while the view is visible.
    func show(_ request: LiveRequest<Value>, in store: Store?, isVisible: Bool) {
        guard let store, isVisible else {
            lastMark = nil
            comparison?.cancel()
            return act(life.update(nil, isVisible: isVisible), request, store)
        }
        switch request.identity {
        case .parameter(let parameter): show(request, AnyHashable(parameter), store)
        case .sql(let mark, let text):
            // Same mark: the view was only redrawn.
            if mark === lastMark { return }
            lastMark = mark
            comparison?.cancel()
            comparison = Task { [weak self] in
                let text = try? await store.read(text)
                // A request that cannot be prepared never equals another.
                let identity = text.map { AnyHashable($0) } ?? AnyHashable(ObjectIdentifier(mark))
                if !Task.isCancelled { self?.show(request, identity, store) }
            }
        }
    }

    func compared() async { await comparison?.value }

    private func show(_ request: LiveRequest<Value>, _ identity: AnyHashable, _ store: Store) {
        let key = Key(store: ObjectIdentifier(store), request: identity)
        act(life.update(key, isVisible: true), request, store)
    }

    private func act(_ action: QueryLife<Key>.Action, _ request: LiveRequest<Value>, _ store: Store?) {
        if action == .nothing { return }
        // Ignore a result of the old query that is still being delivered.
        turn += 1
        following?.cancel()
        if action == .start, let store {
            (isLoaded, failure) = (false, nil)
            following = Task { [weak self, turn] in
                for await state in store.observe(request.fetch) {
                    guard let self, turn == self.turn else { return }
                    self.take(state)
                }
            }
        }
    }

    private func take(_ state: QueryState<Value>) {
        if let value = state.value, value != self.value { self.value = value }
        if failure != nil || state.failure != nil { failure = state.failure }
        if state.failure == nil { isLoaded = true }
    }
}
