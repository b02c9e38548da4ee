// This source file is part of the Optimist open source project, under the MIT licence.

/// The space that a table's rows are in. Without a rule, the rows are in the person's own account.
public enum SpaceRule: Hashable, Sendable {
    /// A root table: the named column holds the space's id. Null: the person's own account.
    ///
    /// The app sets the column, which is nullable and does not refer to another table.
    case own(String)
    /// A child table: the named foreign key refers to a parent row, and the row is in its parent's space. Null: the
    /// person's own account.
    case of(String)

    /// The column that decides the space.
    package var column: String {
        switch self {
        case .own(let column), .of(let column): column
        }
    }

    /// The maximum number of foreign keys from a row to its root.
    static let maxSteps = 8

    @_spi(Internals) public init?(json: JSON) {
        guard let object = json.object, object.count == 1 else { return nil }
        if let column = object["column"]?.string {
            self = .own(column)
        } else if let parent = object["parent"]?.string {
            self = .of(parent)
        } else {
            return nil
        }
    }

    @_spi(Internals) public var json: JSON {
        switch self {
        case .own(let column): ["column": .string(column)]
        case .of(let parent): ["parent": .string(parent)]
        }
    }
}

extension Schema {
    var faultsOfSpaces: [String] {
        types.keys.sorted().flatMap { name in faultsOfSpace(of: name).map { "\(name).@space \($0)" } }
    }

    /// Returns the contradictions in a type's space rule, as phrases that follow the rule's name. A shared row has one
    /// path to a root, and refers to shared rows only.
    package func faultsOfSpace(of name: String) -> [String] {
        guard let type = types[name] else { return [] }
        guard let rule = type.space else { return faultsOfOwnReferences(type) }
        return [fault(of: rule, name, type)].compactMap(\.self) + faultsOfReferences(beside: rule, type)
    }

    private func fault(of rule: SpaceRule, _ name: String, _ type: TypeSchema) -> String? {
        guard let column = type.columns[rule.column] else {
            return "names \"\(rule.column)\", which is not a column."
        }
        switch rule {
        case .own:
            if column.type == .ref, column.target == nil, !column.isRequired { return nil }
            return "names \"\(rule.column)\", which must be able to hold an id or null, and refer to no other table."
        case .of:
            guard let parent = column.target else {
                return "names \"\(rule.column)\" as the parent, which is not a reference."
            }
            return faultOfPath(from: name, to: parent)
        }
    }

    private func faultOfPath(from name: String, to parent: String) -> String? {
        var path = [name, parent]
        while path.count <= SpaceRule.maxSteps + 1, let last = path.last {
            if path.dropLast().contains(last) { return "leads in a circle: \(path.joined(separator: ", "))." }
            guard let rule = types[last]?.space else {
                return "leads to \"\(last)\", whose rows cannot be in a space. Give it a rule for its space too."
            }
            guard case .of(let key) = rule, let next = types[last]?.columns[key]?.target else { return nil }
            path.append(next)
        }
        return "has more than \(SpaceRule.maxSteps) steps to its root."
    }

    private func faultsOfReferences(beside rule: SpaceRule, _ type: TypeSchema) -> [String] {
        type.columns.sorted { $0.key < $1.key }.compactMap { column, definition in
            guard let target = definition.target, let other = types[target], other.space == nil, rule != .of(column)
            else { return nil }
            return """
                lets rows be in a space, but "\(column)" refers to "\(target)", whose rows cannot. Give \(target) a \
                rule for its space, or drop the foreign key.
                """
        }
    }

    /// When a person loses a space, its rows are removed. Rows of the own account could not stay if they referred to them.
    private func faultsOfOwnReferences(_ type: TypeSchema) -> [String] {
        type.columns.sorted { $0.key < $1.key }.compactMap { column, definition in
            guard let target = definition.target, types[target]?.space != nil else { return nil }
            return """
                is missing, but "\(column)" refers to "\(target)", whose rows can be in a space. Add a rule, or drop the \
                foreign key.
                """
        }
    }
}
