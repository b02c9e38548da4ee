// This source file is part of the Optimist open source project, under the MIT licence.

/// A schema change that breaks apps or removes data from rows. The server makes the change only if its configuration
/// accepts it.
///
/// As text it is a word, a colon and a place: `drop:note`, `drop:todo.done`, `retype:todo.done`, `require:todo.due` or
/// `unique:contact.email+name`. `optimist serve --accept` reads this text, and error messages print it.
public struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// Removed, not renamed.
        case drop
        /// Another type of value, or another target of a reference.
        case retype
        /// Newly required, but possibly null in stored rows.
        case require
        /// Newly unique, but stored rows collide.
        case unique
    }

    package var kind: Kind
    /// The former name of a removed type, otherwise the current name.
    package var type: String
    /// Empty for the type itself.
    package var columns: [String]

    package init(_ kind: Kind, _ type: String, _ columns: String...) { self.init(kind, type, columns: columns) }

    init(_ kind: Kind, _ type: String, columns: [String]) {
        self.kind = kind
        self.type = type
        self.columns = columns
    }

    /// Parses the text of `description`. Returns nil for any other text.
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

    var place: String { columns.isEmpty ? type : "\(type).\(columns.joined(separator: "+"))" }
}
