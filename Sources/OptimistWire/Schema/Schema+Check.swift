// This source file is part of the Optimist open source project, under the MIT licence.

extension Schema {
    /// Checks that the schema does not contradict itself.
    ///
    /// - Throws: ``SchemaError`` that names the first contradiction, in the order of the names.
    public func check() throws(SchemaError) {
        guard version >= 1, minClientVersion <= version else {
            throw SchemaError("\"version\" counts from 1, and \"minClientVersion\" is not above it.")
        }
        for (name, type) in types.sorted(by: { $0.key < $1.key }) {
            for (column, definition) in type.columns.sorted(by: { $0.key < $1.key }) {
                try check(definition, "\(name).\(column)")
            }
            try type.checkIndexes(name)
            if let oldest = type.minClientVersion, oldest > version {
                throw SchemaError("\(name).@minClientVersion is above the schema's version \(version).")
            }
            try check(type.columns.mapValues(\.formerNames), of: "\(name).")
        }
        try check(types.mapValues(\.formerNames), of: "")
    }

    private func check(_ column: ColumnSchema, _ name: String) throws(SchemaError) {
        switch (column.type, column.target) {
        case (.ref, nil): throw SchemaError("\(name) is a ref and needs \"to\".")
        case (.ref, let target?) where types[target] == nil:
            throw SchemaError("\(name) refers to \"\(target)\", which is no type of the schema.")
        case (.ref, _): break
        case (_, _?): throw SchemaError("\(name) has \"to\" and is no ref.")
        case (_, nil): if column.onDelete != nil { throw SchemaError("\(name) has \"onDelete\" and is no ref.") }
        }
        if column.onDelete == .setNull, column.isRequired {
            throw SchemaError("\(name) is required, so a delete cannot set it to null.")
        }
        guard column.type == .counter else { return }
        if column.isRequired { throw SchemaError("\(name) is a counter: it is never null, and cannot be required.") }
        if column.maxBytes != nil { throw SchemaError("\(name) is a counter and has no \"maxBytes\".") }
    }

    /// At no version may a name mean two things.
    private func check(_ former: [String: [FormerName]], of place: String) throws(SchemaError) {
        var known: [(name: String, until: Int)] = []
        for (present, names) in former.sorted(by: { $0.key < $1.key }) {
            for former in names {
                guard Schema.isName(former.name), former.name != "id" else {
                    throw SchemaError("\(place)\(present) cannot have been called \"\(former.name)\".")
                }
                guard former.until < version else {
                    throw SchemaError(
                        "\(place)\(present) was \"\(former.name)\" until version \(former.until), and this is \(version)."
                    )
                }
                known.append((former.name, former.until))
            }
            guard Set(names.map(\.until)).count == names.count else {
                throw SchemaError("\(place)\(present) had two names at once.")
            }
        }
        for (index, one) in known.enumerated() {
            if let present = former[one.name], !present.contains(where: { $0.until >= one.until }) {
                throw SchemaError("\(place)\(one.name) is also a former name of another until version \(one.until).")
            }
            if known[..<index].contains(where: { $0.name == one.name && $0.until == one.until }) {
                throw SchemaError("\(place)\(one.name) was the name of two until version \(one.until).")
            }
        }
    }
}

extension TypeSchema {
    fileprivate func checkIndexes(_ name: String) throws(SchemaError) {
        var seen: Set<Set<String>> = []
        for index in uniqueIndexes {
            let names = Set(index.columns)
            guard !names.isEmpty, names.count == index.columns.count else {
                throw SchemaError("An index of \(name).@unique needs columns, each once.")
            }
            guard seen.insert(names).inserted else {
                throw SchemaError("\(name).@unique has two indexes over the same columns.")
            }
            for column in index.columns {
                guard let definition = columns[column] else {
                    throw SchemaError("\(name).@unique names \"\(column)\", which is no column.")
                }
                if [.counter, .json, .blob].contains(definition.type) {
                    throw SchemaError(
                        "\(name).\(column) is of type \(definition.type.rawValue), which cannot be unique.")
                }
            }
        }
    }
}
