// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// A view's query, with an identity to compare it with the view's previous query.
struct LiveRequest<Value: Equatable & Sendable>: Sendable {
    enum Identity: Sendable {
        /// Requests with equal parameters are equal.
        case parameter(any Hashable & Sendable)
        /// Requests with equal SQL and arguments are equal.
        case sql(Mark, @Sendable (Database) throws -> SQLText)
    }

    struct SQLText: Hashable, Sendable {
        var sql: String
        /// As text, because the arguments cannot leave the reading thread.
        var arguments: String
    }

    /// Identifies one evaluation of a view's initializer.
    final class Mark: Sendable {}

    let identity: Identity
    let fetch: @Sendable (Database) throws -> Value
}

extension LiveRequest {
    init<Record: FetchableRecord & Equatable & Sendable>(
        _ request: @escaping @Sendable () -> QueryInterfaceRequest<Record>
    ) where Value == [Record] {
        identity = .sql(Mark()) { db in
            let statement = try request().makePreparedRequest(db, forSingleResult: false).statement
            return SQLText(sql: statement.sql, arguments: statement.arguments.description)
        }
        fetch = { db in try request().fetchAll(db) }
    }

    /// - Parameter parameter: Everything that the result depends on except the database.
    init<Parameter: Hashable & Sendable>(
        for parameter: Parameter, _ fetch: @escaping @Sendable (Database, Parameter) throws -> Value
    ) {
        identity = .parameter(parameter)
        self.fetch = { db in try fetch(db, parameter) }
    }
}
