// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// How the database stores a UUID: as 16 bytes, or as lower-case text.
enum UUIDForm: Sendable, Equatable {
    case bytes, text

    /// How a record stores its ids. Its strategy for UUIDs decides; if that is the default, the type of its `id`; if
    /// that is unknown, the declared type of the column.
    init(idsOf record: any SyncedRecord.Type, declared: String) {
        let idType = (record as? any Identifiable.Type)?.idType
        switch record.databaseUUIDEncodingStrategy(for: "id") {
        case .deferredToUUID where idType == UUID.self: self = .bytes
        case .deferredToUUID where idType == nil: self.init(declared: declared)
        default: self = .text
        }
    }

    /// How a column stores ids, by its declared type.
    init(declared: String) {
        let type = declared.uppercased()
        self = type.contains("TEXT") || type.contains("CHAR") ? .text : .bytes
    }

    /// The form of the ids in words, for error messages.
    var words: String {
        switch self {
        case .bytes: "as 16 bytes"
        case .text: "as text in lower case"
        }
    }

    /// The wire form of a stored id, or nil if it is not a UUID.
    func wire(_ value: DatabaseValue) -> String? {
        switch value.storage {
        case .blob(let data) where data.count == 16:
            let bytes = [UInt8](data)
            return UUIDText.encode(bytes)
        case .string(let text):
            let lower = text.lowercased()
            return RowID.isValid(lower) ? lower : nil
        default: return nil
        }
    }

    /// The stored form of an id from the wire, or nil if it is not a lower-case UUID.
    func stored(_ id: String) -> DatabaseValue? {
        switch self {
        case .text: RowID.isValid(id) ? id.databaseValue : nil
        case .bytes: UUIDText.decode(id)?.databaseValue
        }
    }
}

extension Identifiable {
    fileprivate static var idType: Any.Type { ID.self }
}

/// Converts UUIDs to and from text without `UUID`, whose text is in upper case.
private enum UUIDText {
    private static let digits = Array("0123456789abcdef".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a UUID in lower case, or nil if the text is not a UUID.
    static func decode(_ text: String) -> Data? {
        guard RowID.isValid(text) else { return nil }
        var text = text
        return text.withUTF8 { characters in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { bytes in
                var digits = 0
                for character in characters where character != UInt8(ascii: "-") {
                    let isNumber = character < UInt8(ascii: "a")
                    let digit = isNumber ? character - UInt8(ascii: "0") : character - UInt8(ascii: "a") + 10
                    bytes[digits / 2] = digits.isMultiple(of: 2) ? digit << 4 : bytes[digits / 2] | digit
                    digits += 1
                }
                return Data(buffer: UnsafeBufferPointer(bytes))
            }
        }
    }
}

/// The form of a column's values in SQLite and on the wire.
///
/// A value that does not fit its column's form is sent as it is. The server then refuses it by name, and the user's
/// value is kept as a rejection: the engine never alters it and never loses it.
enum ValueForm: Sendable, Equatable {
    case string, bool, int, int64, number, data, json, counter
    case date(DateForm)
    case reference(UUIDForm)

    /// How GRDB stores a date.
    enum DateForm: Sendable, Equatable { case text, seconds, milliseconds }

    /// - Parameter reference: How the table that the column refers to stores its ids. Nil: the column is not a foreign key.
    init(column: ColumnInfo, record: any SyncedRecord.Type, reference: UUIDForm?) {
        if let reference {
            self = .reference(reference)
            return
        }
        switch Self.columnType(declared: column.type) {
        case .bool: self = .bool
        case .int64: self = .int64
        case .date: self = .date(DateForm(record.databaseDateEncodingStrategy(for: column.name)))
        case .json: self = .json
        case .int: self = .int
        case .string: self = .string
        case .data: self = .data
        default: self = .number
        }
    }

    /// The type of a column's values by its declared type, similar to SQLite's own affinities.
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

    /// The wire form of a stored value.
    func wire(_ value: DatabaseValue) -> JSON {
        switch (self, value.storage) {
        case (_, .null): .null
        case (.bool, .int64(let number)) where number == 0 || number == 1: .bool(number == 1)
        case (.int64, .int64(let number)): .string(String(number))
        case (.number, .int64(let number)): .double(Double(number))
        case (.date(let form), let storage): form.wire(storage) ?? Self.plain(storage)
        case (.reference(let form), _): form.wire(value).map(JSON.string) ?? Self.plain(value.storage)
        case (.json, .string(let text)): (try? JSON(parsing: text.utf8)) ?? Self.plain(value.storage)
        case (.data, .blob(let data)): .string(Base64URL.encode(data))
        case (_, let storage): Self.plain(storage)
        }
    }

    private static func plain(_ storage: DatabaseValue.Storage) -> JSON {
        switch storage {
        case .null: .null
        case .int64(let number): .int(number)
        case .double(let number): number.isFinite ? .double(number) : .string(number.description)
        case .string(let text): .string(text)
        case .blob(let data): ["@data": .string(Base64URL.encode(data))]
        }
    }

    /// The stored form of a value from the wire.
    func stored(_ value: JSON) -> DatabaseValue {
        switch (self, value) {
        case (_, .null): .null
        case (.json, _): value.description.databaseValue
        case (.int64, .string(let text)): Int64(text)?.databaseValue ?? text.databaseValue
        case (.number, .int(let number)): Double(number).databaseValue
        case (.data, .string(let text)):
            Base64URL.decode(text).map { Data($0).databaseValue } ?? text.databaseValue
        case (.reference(let form), .string(let id)): form.stored(id) ?? id.databaseValue
        case (.date(let form), .string(let text)): form.stored(text) ?? text.databaseValue
        case (_, .bool(let flag)): flag.databaseValue
        case (_, .int(let number)): number.databaseValue
        case (_, .double(let number)): number.databaseValue
        case (_, .string(let text)): text.databaseValue
        case (_, .array), (_, .object): Self.storedObject(value)
        }
    }

    private static func storedObject(_ value: JSON) -> DatabaseValue {
        if let bytes = value["@data"]?.string.flatMap(Base64URL.decode) { return Data(bytes).databaseValue }
        return value.description.databaseValue
    }
}
