// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// How a column's values are stored in SQLite and sent on the wire.
///
/// Every value converts to the wire and back unchanged. A value that does not fit its column is sent as it is, or as an
/// object with its type: see ``StrangeValue``. The store refuses such a value at the write, and the server would name
/// it in a refusal. So the engine never alters or loses a value.
enum ValueForm: Sendable, Equatable {
    case string, bool, int, int64, number, data, counter
    case json(JSONForm)
    case date(DateForm)
    case reference(UUIDForm)

    /// How GRDB stores a date.
    enum DateForm: Sendable, Equatable { case text, seconds, milliseconds }

    /// - Parameter reference: How the referenced table stores its ids. Nil if the column is not a foreign key.
    init(column: ColumnInfo, record: any SyncedRecord.Type, reference: UUIDForm?) {
        if let reference {
            self = .reference(reference)
            return
        }
        switch Self.columnType(declared: column.type) {
        case .bool: self = .bool
        case .int64: self = .int64
        case .date: self = .date(DateForm(record.databaseDateEncodingStrategy(for: column.name)))
        case .json: self = .json(JSONForm(declared: column.type))
        case .int: self = .int
        case .string: self = .string
        case .data: self = .data
        default: self = .number
        }
    }

    /// The column type for a declared type, similar to SQLite's affinities.
    static func columnType(declared: String) -> ColumnType {
        let type = declared.uppercased()
        return switch type {
        case _ where type.contains("BOOL"): .bool
        case "BIGINT": .int64
        case _ where type.contains("DATETIME") || type.contains("TIMESTAMP"): .date
        case _ where type.contains("JSON"): .json
        case _ where type.contains("INT"): .int
        case _ where type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") || type == "DATE": .string
        case _ where type.contains("BLOB"): .data
        default: .number
        }
    }

    /// The type of the column's values on the wire. A counter is always a whole number.
    var columnType: ColumnType {
        switch self {
        case .string: .string
        case .bool: .bool
        case .int, .counter: .int
        case .int64: .int64
        case .number: .number
        case .data: .data
        case .json: .json
        case .date: .date
        case .reference: .ref
        }
    }

    func wire(_ value: DatabaseValue) -> JSON {
        switch (self, value.storage) {
        case (_, .null): .null
        case (.bool, .int64(0)): false
        case (.bool, .int64(1)): true
        case (.int64, .int64(let number)): .string(String(number))
        // A column declared DATE turns texts that look like numbers into numbers.
        case (.string, .int64(let number)): .string(String(number))
        case (.date(let form), let storage): form.wire(storage) ?? strange(storage)
        case (.reference(let form), let storage): Self.reference(value, form) ?? strange(storage)
        case (.json, .string(let text)):
            JSONForm.wire(text, maxDepth: RowSync.Limit.jsonDepth) ?? strange(value.storage)
        case (.data, .blob(let data)): .string(Base64URL.encode(data))
        case (_, let storage): strange(storage)
        }
    }

    private static func reference(_ value: DatabaseValue, _ form: UUIDForm) -> JSON? {
        guard let id = form.wire(value), form.stored(id)?.storage == value.storage else { return nil }
        return .string(id)
    }

    private func strange(_ storage: DatabaseValue.Storage) -> JSON {
        switch storage {
        case .null: .null
        case .int64(let number): .int(number)
        case .double(let number): number.isFinite ? .double(number) : StrangeValue.number(number).json
        case .string(let text): takesTextAsIs ? .string(text) : StrangeValue.text(text).json
        case .blob(let data): StrangeValue.data(data).json
        }
    }

    private var takesTextAsIs: Bool {
        switch self {
        case .string, .bool, .int, .number, .counter: true
        case .int64, .data, .json, .date, .reference: false
        }
    }

    func stored(_ value: JSON) -> DatabaseValue {
        if let strange = StrangeValue(value) { return strange.stored }
        return switch (self, value) {
        case (_, .null): .null
        case (.json(.numeric), .int(let number)): number.databaseValue
        case (.json(.numeric), .double(let number)): number.databaseValue
        case (.json, _): value.description.databaseValue
        case (.int64, .string(let text)): Int64(text)?.databaseValue ?? text.databaseValue
        case (.data, .string(let text)):
            Base64URL.decode(text).map { Data($0).databaseValue } ?? text.databaseValue
        case (.reference(let form), .string(let id)): form.stored(id) ?? id.databaseValue
        case (.date(let form), .string(let text)): form.stored(text) ?? text.databaseValue
        case (_, .bool(let flag)): flag.databaseValue
        case (_, .int(let number)): number.databaseValue
        case (_, .double(let number)): number.databaseValue
        case (_, .string(let text)): text.databaseValue
        case (_, .array), (_, .object): value.description.databaseValue
        }
    }
}

/// A value of the wrong type for its column: on the wire an object with one member that begins with "@".
enum StrangeValue {
    case text(String)
    case data(Data)
    case number(Double)

    init?(_ value: JSON) {
        guard case .object(let object) = value, object.count == 1, let text = object.members[0].value.string else {
            return nil
        }
        switch object.members[0].key {
        case "@text": self = .text(text)
        case "@data":
            guard let bytes = Base64URL.decode(text) else { return nil }
            self = .data(Data(bytes))
        case "@number":
            guard let number = Double(text) else { return nil }
            self = .number(number)
        default: return nil
        }
    }

    var json: JSON {
        switch self {
        case .text(let text): ["@text": .string(text)]
        case .data(let data): ["@data": .string(Base64URL.encode(data))]
        case .number(let number): ["@number": .string(number.description)]
        }
    }

    var stored: DatabaseValue {
        switch self {
        case .text(let text): text.databaseValue
        case .data(let data): data.databaseValue
        case .number(let number): number.databaseValue
        }
    }
}
