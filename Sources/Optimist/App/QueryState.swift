// This source file is part of the Optimist open source project, under the MIT licence.

/// What a live query has to show: its result, or the last result and why there is no newer one.
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

    /// Makes a state of a query that succeeds.
    ///
    /// - Parameter value: The present result.
    public init(_ value: Value) {
        result = .success(value)
        last = nil
    }

    /// Makes a state of a query that fails.
    ///
    /// - Parameters:
    ///   - failure: Why it fails.
    ///   - last: The result from before it failed. Nil: there was none.
    public init(failure: any Error, last: Value?) {
        result = .failure(failure)
        self.last = last
    }

    /// The newest result. While the query fails, the last one from before. Nil: the query has failed from the beginning.
    public var value: Value? { (try? result.get()) ?? last }

    /// Why the query fails. Nil: ``value`` is the present result.
    public var failure: (any Error)? { if case .failure(let error) = result { error } else { nil } }

    /// Returns the present result, and never an older one.
    ///
    /// - Throws: ``failure``.
    public func get() throws -> Value { try result.get() }
}

/// Makes the states of a query from its results, without those that equal the one before.
struct QueryHistory<Value: Equatable & Sendable> {
    private var last: Value?
    /// Describes the failure of the state before. Nil: it had none.
    private var failure: String?

    /// - Returns: Nil if the result changes nothing.
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
