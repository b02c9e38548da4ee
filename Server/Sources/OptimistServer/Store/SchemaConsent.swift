// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServing
@_spi(Internals) package import OptimistWire

/// Whether an operator has agreed to what a new version of the schema takes from apps and rows.
package struct SchemaConsent {
    private let schema: Schema
    /// The version that was served before this one. Nil: none.
    private let before: Int?
    private let accepted: [SchemaChange]
    private var costly: [(change: SchemaChange, effect: String)] = []
    /// The changes that may be accepted. They include changes that need no consent, such as a unique index in which no
    /// rows collide.
    private var possible: Set<SchemaChange> = []
    /// Whether the data is served with this version already. Then all its changes have been accepted.
    private let isServed: Bool

    /// - Parameters:
    ///   - schema: The new version.
    ///   - known: The versions that the data was served with, the latest first.
    ///   - accepted: The changes that the operator has agreed to.
    ///   - collisions: Counts the rows of a type that have the same values in a unique index as another row of their account,
    ///     by the new version's names.
    package init(
        to schema: Schema, from known: [SchemaRegister.Version], _ accepted: [SchemaChange],
        collisions: (String, UniqueIndex) throws -> Int
    ) throws {
        self.schema = schema
        self.accepted = accepted
        isServed = known.first?.version == schema.version
        // At a restart with the same options, they still name what they named at the first start.
        let earlier = isServed ? known.dropFirst() : known[...]
        before = earlier.first?.version
        let difference = SchemaDifference(from: try earlier.map(Self.read), to: schema)
        costly = difference.costly
        for (type, index) in difference.newIndexes {
            let change = SchemaChange(.unique, type, columns: index.columns)
            possible.insert(change)
            let count = isServed ? 0 : try collisions(type, index)
            if count == 0 { continue }
            let place = "\(type).\(index.columns.joined(separator: "+"))"
            costly.append(
                (
                    change,
                    "\(place) is unique now, and \(count) rows collide in it. They stay; the server judges later writes."
                ))
        }
        possible.formUnion(costly.map(\.change))
    }

    private static func read(_ version: SchemaRegister.Version) throws -> Schema {
        do { return try Schema(json: JSON(parsing: version.content.utf8)) } catch {
            throw OptimistError(
                .schemaConflict, "Version \(version.version) of the schema, which the data has, cannot be read.",
                cause: error)
        }
    }

    /// - Throws: ``OptimistError`` with code `schemaConflict` that tells all changes, and the options that accept them.
    package func check() throws {
        let strangers = accepted.filter { !possible.contains($0) }
        if !strangers.isEmpty { throw OptimistError(.schemaConflict, sentence(on: strangers)) }
        let open = costly.filter { !accepted.contains($0.change) }
        guard let before, !isServed, !open.isEmpty else { return }
        let lines = open.map { "\n  \($0.effect)" }.joined()
        throw OptimistError(
            .schemaConflict,
            """
            Version \(schema.version) of the schema "\(schema.id)" takes something away that version \(before) has:\(lines)
            Nothing has been changed. If a name is all that changed, say so with "was" or "@was", as \
            `optimist schema --update` does. If all of it is meant, start with:
              \(options(costly.map(\.change)))
            """)
    }

    private func sentence(on strangers: [SchemaChange]) -> String {
        let named = options(strangers)
        guard let before else {
            return "\(named) names no change: the data was not served with another version of \"\(schema.id)\" before."
        }
        let known =
            costly.isEmpty ? "No change needs to be accepted." : "Changes to accept: \(options(costly.map(\.change)))"
        return "\(named) names no change from version \(before) of the schema to version \(schema.version). \(known)"
    }

    private func options(_ changes: [SchemaChange]) -> String {
        changes.map { "--accept \($0)" }.joined(separator: " ")
    }
}
