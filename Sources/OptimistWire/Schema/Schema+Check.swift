// This source file is part of the Optimist open source project, under the MIT licence.

extension Schema {
    /// Checks the schema for contradictions.
    ///
    /// - Throws: ``SchemaError`` with every contradiction, sorted by name.
    public func check() throws(SchemaError) {
        let faults = contradictions
        if !faults.isEmpty { throw SchemaError(faults) }
    }

    /// One sentence for each contradiction.
    var contradictions: [String] {
        var faults: [String] = []
        if version < 1 || minClientVersion > version {
            faults.append("\"version\" must be at least 1, and at least \"minClientVersion\".")
        }
        for (name, type) in types.sorted(by: { $0.key < $1.key }) {
            for (column, definition) in type.columns.sorted(by: { $0.key < $1.key }) {
                let isSpace = type.space == .own(column)
                faults += self.faults(of: definition, "\(name).\(column)", isSpace: isSpace)
            }
            faults += type.faultsOfIndexes(name)
            if let oldest = type.minClientVersion, oldest > version {
                faults.append("\(name).@minClientVersion is above the schema's version \(version).")
            }
            faults += self.faults(of: type.columns.mapValues(\.formerNames), "\(name).")
        }
        return faults + faultsOfSpaces + self.faults(of: types.mapValues(\.formerNames), "")
    }

    private func faults(of column: ColumnSchema, _ name: String, isSpace: Bool) -> [String] {
        var faults: [String] = []
        switch (column.type, column.target) {
        case (.ref, nil) where isSpace: break
        case (.ref, nil): faults.append("\(name) is a ref and needs \"to\".")
        case (.ref, let target?) where types[target] == nil:
            faults.append("\(name) refers to \"\(target)\", which is not a type of the schema.")
        case (.ref, _): break
        case (_, _?): faults.append("\(name) has \"to\" but is not a ref.")
        case (_, nil): if column.onDelete != nil { faults.append("\(name) has \"onDelete\" but is not a ref.") }
        }
        if column.onDelete == .setNull, column.isRequired {
            faults.append("\(name) is required, so a delete cannot set it to null.")
        }
        faults += column.rules.faults(for: column.type).map { "\(name) \($0)" }
        guard column.type == .counter else { return faults }
        if column.isRequired { faults.append("\(name) is a counter: it is never null, and cannot be required.") }
        if column.maxBytes != nil { faults.append("\(name) is a counter, which cannot have \"maxBytes\".") }
        return faults
    }

    /// A name must be unambiguous at every version.
    private func faults(of former: [String: [FormerName]], _ place: String) -> [String] {
        var faults: [String] = []
        var known: [(name: String, until: Int)] = []
        for (present, names) in former.sorted(by: { $0.key < $1.key }) {
            for former in names {
                if !Schema.isName(former.name) || former.name == "id" {
                    faults.append("\(place)\(present) cannot have been called \"\(former.name)\".")
                } else if former.until >= version {
                    faults.append(
                        "\(place)\(present) was \"\(former.name)\" until version \(former.until), which is not below \(version)."
                    )
                }
                known.append((former.name, former.until))
            }
            if Set(names.map(\.until)).count != names.count {
                faults.append("\(place)\(present) had two names at the same version.")
            }
        }
        for (index, one) in known.enumerated() {
            if let present = former[one.name], !present.contains(where: { $0.until >= one.until }) {
                faults.append(
                    "\(place)\(one.name) is also a former name of another type or column until version \(one.until).")
            }
            if known[..<index].contains(where: { $0.name == one.name && $0.until == one.until }) {
                faults.append(
                    "\(place)\(one.name) was the former name of two types or columns until version \(one.until).")
            }
        }
        return faults
    }
}

extension TypeSchema {
    fileprivate func faultsOfIndexes(_ name: String) -> [String] {
        var faults: [String] = []
        var seen: Set<Set<String>> = []
        for index in uniqueIndexes {
            let names = Set(index.columns)
            if names.isEmpty || names.count != index.columns.count {
                faults.append("An index of \(name).@unique needs at least one column, and each only once.")
            } else if !seen.insert(names).inserted {
                faults.append("\(name).@unique has two indexes over the same columns.")
            }
            for column in index.columns {
                guard let definition = columns[column] else {
                    faults.append("\(name).@unique names \"\(column)\", which is not a column.")
                    continue
                }
                if [.counter, .json, .blob].contains(definition.type) {
                    faults.append("\(name).\(column) is of type \(definition.type.rawValue), which cannot be unique.")
                }
            }
        }
        return faults
    }
}
