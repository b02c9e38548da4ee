// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServing
@_spi(Internals) package import OptimistWire

package struct SchemaConsent {
    private let schema: Schema
    private let before: Int?
    private let accepted: [SchemaChange]
    private var costly: [(change: SchemaChange, effect: String)] = []
    /// The changes that may be accepted, including changes without any cost, such as a unique index without colliding
    /// rows.
    private var possible: Set<SchemaChange> = []
    /// Whether the data is already served with this version. If so, the version's changes were accepted earlier.
    private let isServed: Bool

    /// - Parameters:
    ///   - schema: The new version.
    ///   - known: The versions that the data was served with, latest first.
    ///   - accepted: The changes that the operator accepts.
    ///   - collisions: Counts the rows of a type whose values in a unique index equal those of another row of their
    ///     account. Its arguments use the new version's names.
    package init(
        to schema: Schema, from known: [SchemaRegister.Version], _ accepted: [SchemaChange],
        collisions: (String, UniqueIndex) throws -> Int
    ) throws {
        self.schema = schema
        self.accepted = accepted
        isServed = known.first?.version == schema.version
        // After a restart with the same options, compare as the first start did.
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
                    "\(place) is now unique, but \(count) rows collide. These are kept. The server checks later writes."
                ))
        }
        possible.formUnion(costly.map(\.change))
    }

    private static func read(_ version: SchemaRegister.Version) throws -> Schema {
        do { return try Schema(json: JSON(parsing: version.content.utf8)) } catch {
            throw OptimistError(
                .schemaConflict, "Version \(version.version) of the schema, stored with the data, cannot be read.",
                cause: error)
        }
    }

    /// - Throws: ``OptimistError`` with code `schemaConflict`. The message lists all open changes and the options that
    ///   accept them.
    package func check() throws {
        let strangers = accepted.filter { !possible.contains($0) }
        if !strangers.isEmpty { throw OptimistError(.schemaConflict, sentence(on: strangers)) }
        let open = costly.filter { !accepted.contains($0.change) }
        guard let before, !isServed, !open.isEmpty else { return }
        let lines = open.map { "\n  \($0.effect)" }.joined()
        throw OptimistError(
            .schemaConflict,
            """
            Version \(schema.version) of the schema "\(schema.id)" makes breaking changes to version \(before):\(lines)
            The data has not been changed. If you only renamed something, declare it with "was" or "@was", as \
            `optimist schema --update` does. To accept all changes, start with:
              \(options(costly.map(\.change)))
            """)
    }

    private func sentence(on strangers: [SchemaChange]) -> String {
        let named = options(strangers)
        guard let before else {
            return "\(named) does not match any change: no other version of \"\(schema.id)\" was served before."
        }
        let known =
            costly.isEmpty ? "There are no changes to accept." : "Changes to accept: \(options(costly.map(\.change)))"
        return
            "\(named) does not match any change from version \(before) of the schema to version \(schema.version). \(known)"
    }

    private func options(_ changes: [SchemaChange]) -> String {
        changes.map { "--accept \($0)" }.joined(separator: " ")
    }
}
