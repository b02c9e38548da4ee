// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The rows below a row, along the keys that decide about spaces. They move with it.
struct RowsBelow {
    private let tables: AppTables
    private let references: ReferenceGraph

    init(_ tables: AppTables, _ references: ReferenceGraph) {
        self.tables = tables
        self.references = references
    }

    /// Parents first.
    func rows(below ref: RowRef) throws -> [Child] {
        var (found, next): ([Child], [RowRef]) = ([], [ref])
        while let parent = next.popLast() {
            for child in try tables.children(of: parent, references) where child.isInSpaceOfParent {
                found.append(child)
                next.append(child.ref)
            }
        }
        return found
    }
}

extension Child {
    /// Whether the reference to the parent decides about the row's space.
    var isInSpaceOfParent: Bool { referrer.layout.rules.space == .of(referrer.column.name) }
}
