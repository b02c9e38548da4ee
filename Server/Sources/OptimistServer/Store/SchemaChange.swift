// This source file is part of the Optimist open source project, under the MIT licence.

/// A change of the schema that takes something from apps or rows. A server makes it only if its configuration accepts
/// it.
///
/// Its text is a word, a colon and a place: `drop:note`, `drop:todo.done`, `retype:todo.done`, `require:todo.due` or
/// `unique:contact.email+name`. `optimist serve --accept` reads that text, and a refusal prints it.
public struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
    /// What changes.
    package enum Kind: String, Sendable, CaseIterable {
        /// A type or a column is gone, and no other has its name as a former one.
        case drop
        /// A column holds values of another type, or refers to another type of rows.
        case retype
        /// A column that may be null in stored rows is required.
        case require
        /// Columns are unique, and stored rows already collide in them.
        case unique
    }

    /// What changes.
    package var kind: Kind
    /// The type's name: the former name of a type that is gone, the present name of any other.
    package var type: String
    /// The columns' names. Empty: the type itself.
    package var columns: [String]

    /// Makes a change, unchecked.
    package init(_ kind: Kind, _ type: String, _ columns: String...) { self.init(kind, type, columns: columns) }

    init(_ kind: Kind, _ type: String, columns: [String]) {
        self.kind = kind
        self.type = type
        self.columns = columns
    }

    /// Reads what `description` writes. Returns nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else { return nil }
        let place = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        let columns = place.count == 2 ? place[1].split(separator: "+", omittingEmptySubsequences: false) : []
        guard place.count <= 2, let type = place.first, !type.isEmpty, !columns.contains("") else { return nil }
        switch kind {
        case .drop: guard columns.count <= 1 else { return nil }
        case .retype, .require: guard columns.count == 1 else { return nil }
        case .unique: guard !columns.isEmpty else { return nil }
        }
        self.init(kind, String(type), columns: columns.map(String.init))
    }

    public var description: String { "\(kind.rawValue):\(place)" }

    /// What changes, as a schema's sentences name it.
    var place: String { columns.isEmpty ? type : "\(type).\(columns.joined(separator: "+"))" }
}
