// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Optimist
public import OptimistCore

/// The app's store, as views get it from the environment. It reads and writes like the store. If the store did not
/// open, for example because the disk is full, each call throws the error of opening it.
public struct StoreAccess: Sendable {
    private let result: Result<Store, any Error>

    /// Wraps an open store.
    public init(_ store: Store) { result = .success(store) }

    /// Represents a store that did not open.
    ///
    /// - Parameter error: The error that each call throws.
    public init(failure error: any Error) { result = .failure(error) }

    /// The store.
    ///
    /// - Throws: The error of opening the store; `OptimistError` with code `noStore` if the views were not given a
    ///   store.
    public var store: Store { get throws { try result.get() } }

    /// The store. Nil if it did not open.
    public var ifOpen: Store? { try? result.get() }

    /// Writes to the app's tables, as `Store.write` does.
    ///
    /// - Parameters:
    ///   - allOrNothing: Whether one refused row makes the server refuse all other rows of the write. Default: false.
    ///   - updates: Runs on the database's thread, in one transaction.
    /// - Returns: The value that the closure returns. The transaction is then durable.
    /// - Throws: As ``store``, and as `Store.write`.
    @discardableResult
    public func write<T: Sendable>(
        allOrNothing: Bool = false, _ updates: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await store.write(allOrNothing: allOrNothing, updates)
    }

    /// Reads one committed state of the database, as `Store.read` does.
    ///
    /// - Parameter value: Runs on another thread.
    /// - Throws: As ``store``, and as `Store.read`.
    public func read<T: Sendable>(_ value: @Sendable (Database) throws -> T) async throws -> T {
        try await store.read(value)
    }

    /// The default of views without a store.
    static let missing = StoreAccess(
        failure: OptimistError(
            .noStore, "This view does not have a store. Add .optimist(client) to the app's scene or the preview."))
}

extension OptimistError.Code {
    /// A view uses the store, but the app has not given its views one.
    public static let noStore = Self("noStore")
}
