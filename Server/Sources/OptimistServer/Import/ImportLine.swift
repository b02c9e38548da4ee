// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// Reads the lines of a batch as rows of one type.
struct ImportLine {
    let batch: ImportBatch
    let definition: TypeSchema

    /// A row whose account is known only by its key.
    struct Row {
        var line: Int
        var accountKey: String
        /// Nil: the row has no id, so that ``ImportLine/id(of:in:)`` derives it from all its values.
        var id: String?
        var values: JSONObject
    }

    /// The namespace of derived ids. Never change it, because a second import would then store all rows again.
    private static let names = NameUUID(namespace: [
        0xBA, 0x89, 0x03, 0x92, 0xD3, 0xA1, 0x4B, 0x98, 0x89, 0xB2, 0x82, 0x5C, 0x7C, 0xA5, 0x3D, 0xB8,
    ])

    func row(_ line: ImportBatch.Line) throws(ImportBatch.Fault) -> Row {
        if let fault = line.fault { throw fault }
        let json: JSON
        do { json = try JSON(parsing: line.text.utf8) } catch {
            throw ImportBatch.Fault(code: "notJSON", message: "The line is not JSON.")
        }
        guard let object = json.object else {
            throw ImportBatch.Fault(code: "notJSON", message: "The line is not a JSON object.")
        }
        guard let account = object[batch.accountColumn].flatMap(Self.name) else {
            throw ImportBatch.Fault(
                code: "accountNotFound", message: "\"\(batch.accountColumn)\" is missing, which names the account.")
        }
        var values: [JSONObject.Member] = []
        values.reserveCapacity(object.count)
        for (name, value) in object.members where name != batch.accountColumn && name != batch.idColumn {
            if batch.isText, value == "" { continue }
            values.append((name, converted(value, definition.columns[name])))
        }
        return Row(
            line: line.number, accountKey: account,
            id: object[batch.idColumn].flatMap(Self.name).map { Self.id(named: $0, type: batch.type) },
            values: JSONObject(values))
    }

    /// The row's own id, or an id derived from its account and all its values.
    func id(of row: Row, in account: String) -> String {
        if let id = row.id { return id }
        return Self.names.uuid(
            of: Array("\(batch.type)/\(account)/".utf8) + JSON.object(row.values).canonicalBytes)
    }

    /// A UUID is an id. Any other text becomes a UUID, so that references can name rows as the file does.
    static func id(named name: String, type: String) -> String {
        let lower = name.lowercased()
        return RowID.isValid(lower) ? lower : names.uuid(of: "\(type)/\(name)".utf8)
    }

    static func name(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : text
        case .int(let number): String(number)
        default: nil
        }
    }

    // MARK: - Values

    /// A value in the form of its column. A value that cannot be converted stays as it is, for the rules to refuse.
    private func converted(_ value: JSON, _ column: ColumnSchema?) -> JSON {
        guard let column else { return value }
        switch (column.type, value) {
        case (.ref, _):
            guard let target = column.target, let name = Self.name(value) else { return value }
            return .string(Self.id(named: name, type: target))
        case (.int64, .int(let number)): return .string(String(number))
        case (_, .string(let text)) where batch.isText: return Self.parsed(text, as: column.type) ?? value
        default: return value
        }
    }

    private static func parsed(_ text: String, as type: ColumnType) -> JSON? {
        switch type {
        case .bool:
            switch text.lowercased() {
            case "true", "t", "1": true
            case "false", "f", "0": false
            default: nil
            }
        case .int, .counter: Int64(text).map(JSON.int)
        case .number, .json: try? JSON(parsing: text.utf8)
        case .string, .int64, .date, .data, .ref, .blob: nil
        }
    }
}
