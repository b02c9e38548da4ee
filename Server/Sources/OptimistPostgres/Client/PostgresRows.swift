// This source file is part of the Optimist open source project, under the MIT licence.

import CLibPQ

/// The answer to a statement. Rows and columns are counted from 0. The caller must know each column's type, which is
/// not checked.
final class PostgresRows {
    private let result: OpaquePointer

    /// Takes ownership of the result.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    /// How many rows the statement wrote or deleted.
    var changedCount: Int { PQcmdTuples(result).map { Int(String(cString: $0)) ?? 0 } ?? 0 }

    /// The server's command tag, such as `COMMIT` or `INSERT 0 1`.
    var command: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) == 1 }

    /// The bytes of a text, without making a string. Empty for null.
    func bytes(_ row: Int, _ column: Int) -> [UInt8] { Array(value(row, column)) }
    func bytesIfAny(_ row: Int, _ column: Int) -> [UInt8]? { isNull(row, column) ? nil : bytes(row, column) }

    func text(_ row: Int, _ column: Int) -> String { String(decoding: value(row, column), as: UTF8.self) }
    func textIfAny(_ row: Int, _ column: Int) -> String? { isNull(row, column) ? nil : text(row, column) }

    /// An integer, or zero for null.
    func int64(_ row: Int, _ column: Int) -> Int64 {
        var number: Int64 = 0
        var isNegative = false
        for byte in value(row, column) {
            if byte == UInt8(ascii: "-") { isNegative = true } else { number = number &* 10 &+ Int64(byte &- 48) }
        }
        return isNegative ? 0 &- number : number
    }
    func int(_ row: Int, _ column: Int) -> Int { Int(int64(row, column)) }
    func intIfAny(_ row: Int, _ column: Int) -> Int? { isNull(row, column) ? nil : int(row, column) }

    func double(_ row: Int, _ column: Int) -> Double { Double(text(row, column)) ?? 0 }
    func doubleIfAny(_ row: Int, _ column: Int) -> Double? { isNull(row, column) ? nil : double(row, column) }

    func bool(_ row: Int, _ column: Int) -> Bool { value(row, column).first == UInt8(ascii: "t") }

    /// The bytes of a `bytea`, which the server sends as `\x` and hexadecimal digits.
    func bytea(_ row: Int, _ column: Int) -> [UInt8] {
        let digits = value(row, column).dropFirst(2).map { $0 < 58 ? $0 &- 48 : $0 &- 87 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private func value(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        guard let text = PQgetvalue(result, Int32(row), Int32(column)) else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return text.withMemoryRebound(to: UInt8.self, capacity: length) {
            UnsafeBufferPointer(start: $0, count: length)
        }
    }
}
