// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// How the database stores a UUID: as 16 bytes, or as lower-case text.
enum UUIDForm: Sendable, Equatable {
    case bytes, text

    /// How a record stores its ids: by its UUID strategy, else by the type of its `id`, else by the column's declared
    /// type.
    init(idsOf record: any SyncedRecord.Type, declared: String) {
        let idType = (record as? any Identifiable.Type)?.idType
        switch record.databaseUUIDEncodingStrategy(for: "id") {
        case .deferredToUUID where idType == UUID.self: self = .bytes
        case .deferredToUUID where idType == nil: self.init(declared: declared)
        default: self = .text
        }
    }

    /// How a record stores the UUIDs of a column.
    init(of column: ColumnInfo, in record: any SyncedRecord.Type) {
        switch record.databaseUUIDEncodingStrategy(for: column.name) {
        case .deferredToUUID: self.init(declared: column.type)
        default: self = .text
        }
    }

    init(declared: String) {
        let type = declared.uppercased()
        self = type.contains("TEXT") || type.contains("CHAR") ? .text : .bytes
    }

    var words: String {
        switch self {
        case .bytes: "as 16 bytes"
        case .text: "as lower-case text"
        }
    }

    /// Returns the wire form of a stored id, or nil if it is not a UUID.
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

    /// Returns the stored form of a wire id, or nil if it is not a lower-case UUID.
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

/// Converts UUIDs to and from lower-case text, whereas `UUID` writes upper case.
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
