// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

struct Child {
    let ref: RowRef
    let referrer: ReferenceGraph.Referrer
    let table: AppTable
}

extension AppTables {
    func children(of ref: RowRef, _ references: ReferenceGraph) throws -> [Child] {
        guard let table = self[ref.table] else { return [] }
        return try references.referrers(to: table.layout.name).flatMap { referrer -> [Child] in
            guard let children = self[referrer.layout.number] else { return [] }
            return try children.ids(where: [referrer.column], are: [ref.id]).map { id in
                Child(ref: RowRef(table: referrer.layout.number, id: id), referrer: referrer, table: children)
            }
        }
    }

    func owners(by values: JSONObject, in table: AppTable) -> [RowRef] {
        table.layout.columns.compactMap { owner(by: $0, values[$0.name]) }
    }
}
