// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The rows below a row, along the keys that decide about spaces. They move with it.
struct RowsBelow {
    private let tables: AppTables
    private let references: ReferenceGraph

    init(_ tables: AppTables) {
        self.tables = tables
        references = tables.references
    }

    /// Parents first.
    ///
    /// - Parameter belongs: Whether a row, with the rows below it, belongs to the row above. Default: always.
    func rows(below ref: RowRef, where belongs: (Child) throws -> Bool = { _ in true }) throws -> [Child] {
        var (found, next): ([Child], [RowRef]) = ([], [ref])
        while let parent = next.popLast() {
            for child in try tables.children(of: parent, references) where try child.isInSpaceOfParent && belongs(child)
            {
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
