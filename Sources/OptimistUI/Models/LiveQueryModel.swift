// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Observation
public import Optimist

/// The result of a query, for views that observe: it changes whenever a committed transaction has changed the result.
///
/// A query that fails leaves the last result here, and says so beside it. It runs again by itself.
///
/// `@LiveQuery` has such a model for each view. An app that has models of its own follows one of these:
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
    /// The latest result. Before the first one, what the model was made with.
    public private(set) var value: Value
    /// Whether ``value`` is a result of the query that is followed now. False: it is still being read, and ``value`` is
    /// what was shown before. An empty result that is loaded means that there are no rows.
    public private(set) var isLoaded = false
    /// Why the query that is followed now fails, for example because it cannot decode a value of a newer app, or because the
    /// store did not open. ``value`` is what was shown before. Nil: it does not fail.
    public private(set) var failure: (any Error)?

    @ObservationIgnored private var life = QueryLife<Key>()
    @ObservationIgnored private var lastMark: LiveRequest<Value>.Mark?
    @ObservationIgnored private var following: Task<Void, Never>?
    @ObservationIgnored private var comparison: Task<Void, Never>?
    /// Counts the queries that were followed. The results of an earlier one no longer count.
    @ObservationIgnored private(set) var turn = 0

    private struct Key: Equatable {
        var store: ObjectIdentifier
        var request: AnyHashable
    }

    /// Makes a model that shows a value until the first result is there.
    public init(_ initial: Value) { value = initial }

    deinit {
        following?.cancel()
        comparison?.cancel()
    }

    /// Keeps ``value`` the newest result until the task is cancelled, or until this is called again.
    ///
    /// - Parameters:
    ///   - store: The store to read.
    ///   - fetch: Runs on a reading thread. If it throws, ``failure`` says so, and it runs again after the next commit that
    ///     changes what it reads, and after a backoff.
    public func follow(_ store: Store, _ fetch: @escaping @Sendable (Database) throws -> Value) async {
        turn += 1
        let own = turn
        (isLoaded, failure) = (false, nil)
        for await state in store.observe(fetch) {
            guard own == turn else { return }
            take(state)
        }
    }

    // MARK: - For the property wrapper

    /// Follows what a view asks for while the view is visible. If the store did not open, ``failure`` says why.
    func show(_ request: LiveRequest<Value>, in store: StoreAccess, isVisible: Bool) {
        do { show(request, in: try store.store, isVisible: isVisible) } catch {
            show(request, in: nil as Store?, isVisible: isVisible)
            // A view that is only drawn again is told nothing new.
            if failure == nil { failure = error }
        }
    }

    /// Follows what a view asks for while the view is visible.
    func show(_ request: LiveRequest<Value>, in store: Store?, isVisible: Bool) {
        guard let store, isVisible else {
            lastMark = nil
            comparison?.cancel()
            return act(life.update(nil, isVisible: isVisible), request, store)
        }
        switch request.identity {
        case .parameter(let parameter): show(request, AnyHashable(parameter), store)
        case .sql(let mark, let text):
            // A view that is only drawn again asks for the same.
            if mark === lastMark { return }
            lastMark = mark
            comparison?.cancel()
            comparison = Task { [weak self] in
                let text = try? await store.read(text)
                // A request that cannot be prepared equals no other.
                let identity = text.map { AnyHashable($0) } ?? AnyHashable(ObjectIdentifier(mark))
                if !Task.isCancelled { self?.show(request, identity, store) }
            }
        }
    }

    /// Returns when the last request has been compared with what runs.
    func compared() async { await comparison?.value }

    private func show(_ request: LiveRequest<Value>, _ identity: AnyHashable, _ store: Store) {
        let key = Key(store: ObjectIdentifier(store), request: identity)
        act(life.update(key, isVisible: true), request, store)
    }

    private func act(_ action: QueryLife<Key>.Action, _ request: LiveRequest<Value>, _ store: Store?) {
        if action == .nothing { return }
        // A result that is on its way when the query ends no longer counts.
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
