// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

extension Error {
    /// The error for a log, without user data. A database error may quote SQL with values, and a decoding error quotes
    /// the row.
    var withoutValues: String {
        switch self {
        case let error as OptimistError: error.description
        case let error as DatabaseError: "SQLite error \(error.extendedResultCode)"
        case let error as DecodingError: error.withoutContent
        case let error as RowDecodingError: error.withoutContent
        default: String(reflecting: type(of: self))
        }
    }
}

extension DecodingError {
    fileprivate var withoutContent: String {
        let path =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            case .keyNotFound(let key, let context): context.codingPath + [key]
            @unknown default: [] as [any CodingKey]
            }
        return "could not decode \(path.map(\.stringValue).joined(separator: "."))"
    }
}

extension RowDecodingError {
    /// The description up to the value: "could not decode Priority".
    fileprivate var withoutContent: String {
        let words = description
        guard let value = words.firstRange(of: " from database value") else { return "could not decode a row" }
        return String(words[..<value.lowerBound])
    }
}
