// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// What a view asks of the store, and how to tell it from what the view asked before.
struct LiveRequest<Value: Equatable & Sendable>: Sendable {
    enum Identity: Sendable {
        /// Requests with equal parameters are equal.
        case parameter(any Hashable & Sendable)
        /// Requests with equal SQL and arguments are equal.
        case sql(Mark, @Sendable (Database) throws -> SQLText)
    }

    /// SQL with its arguments.
    struct SQLText: Hashable, Sendable {
        var sql: String
        /// The description of the arguments: they cannot leave the reading thread.
        var arguments: String
    }

    /// Tells one evaluation of a view's initializer from the next one.
    final class Mark: Sendable {}

    let identity: Identity
    let fetch: @Sendable (Database) throws -> Value
}

extension LiveRequest {
    /// - Parameter request: Makes the request. It runs on a reading thread.
    init<Record: FetchableRecord & Equatable & Sendable>(
        _ request: @escaping @Sendable () -> QueryInterfaceRequest<Record>
    ) where Value == [Record] {
        identity = .sql(Mark()) { db in
            let statement = try request().makePreparedRequest(db, forSingleResult: false).statement
            return SQLText(sql: statement.sql, arguments: statement.arguments.description)
        }
        fetch = { db in try request().fetchAll(db) }
    }

    /// - Parameters:
    ///   - parameter: What the result depends on, besides the database.
    ///   - fetch: Reads the result. It runs on a reading thread.
    init<Parameter: Hashable & Sendable>(
        for parameter: Parameter, _ fetch: @escaping @Sendable (Database, Parameter) throws -> Value
    ) {
        identity = .parameter(parameter)
        self.fetch = { db in try fetch(db, parameter) }
    }
}
