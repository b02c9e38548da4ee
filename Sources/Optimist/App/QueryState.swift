// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of a live query: its result, or its last result and the failure that prevents a newer one.
///
/// ```swift
/// for await state in store.observe({ db in try Todo.fetchAll(db) }) {
///     todos = state.value ?? []
///     problem = state.failure
/// }
/// ```
public struct QueryState<Value: Sendable>: Sendable {
    private let result: Result<Value, any Error>
    private let last: Value?

    /// Creates the state of a query that succeeds.
    ///
    /// - Parameter value: The current result.
    public init(_ value: Value) {
        result = .success(value)
        last = nil
    }

    /// Creates the state of a query that fails.
    ///
    /// - Parameters:
    ///   - failure: Why it fails.
    ///   - last: The last result before the failure. Nil if there was none.
    public init(failure: any Error, last: Value?) {
        result = .failure(failure)
        self.last = last
    }

    /// The newest result. While the query fails, the last result before the failure. Nil if the query has never
    /// succeeded.
    public var value: Value? { (try? result.get()) ?? last }

    /// Why the query fails. Nil if ``value`` is current.
    public var failure: (any Error)? { if case .failure(let error) = result { error } else { nil } }

    /// Returns the current result, never an older one.
    ///
    /// - Throws: ``failure``.
    public func get() throws -> Value { try result.get() }
}

/// Turns the results of a query into states, and drops consecutive equal states.
struct QueryHistory<Value: Equatable & Sendable> {
    private var last: Value?
    /// The description of the last state's failure. Nil after a success.
    private var failure: String?

    mutating func state(after result: Result<Value, any Error>) -> QueryState<Value>? {
        switch result {
        case .success(let value):
            if failure == nil, value == last { return nil }
            (last, failure) = (value, nil)
            return QueryState(value)
        case .failure(let error):
            let description = String(reflecting: error)
            if description == failure { return nil }
            failure = description
            return QueryState(failure: error, last: last)
        }
    }
}
