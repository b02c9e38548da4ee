// This source file is part of the Optimist open source project, under the MIT licence.

import CLibPQ

enum PostgresValue: Sendable {
    case null
    case int(Int64)
    case double(Double)
    case bool(Bool)
    case text(String)
    case utf8([UInt8])
    case bytes([UInt8])
    case texts([String])
}

extension PostgresValue {
    static func int(_ value: Int) -> Self { .int(Int64(value)) }
    static func text(_ value: String?) -> Self { value.map { .text($0) } ?? .null }
    static func int(_ value: Int?) -> Self { value.map { .int(Int64($0)) } ?? .null }
}

/// The parameters of a statement in libpq's form, in one block of memory.
///
/// Texts and bytes are sent with their length in PostgreSQL's binary format, so they need no escaping. Numbers,
/// Booleans and arrays are sent as text.
///
/// > Source: PostgreSQL, "libpq", `PQsendQueryPrepared`.
struct PostgresParameters {
    private var memory: [UInt8] = []
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    init(_ values: [PostgresValue]) {
        starts.reserveCapacity(values.count)
        for value in values { add(value) }
    }

    private mutating func add(_ value: PostgresValue) {
        let start = memory.count
        var isBinary = true
        switch value {
        case .null:
            starts.append(nil)
            lengths.append(0)
            formats.append(0)
            return
        case .int(let number):
            memory += String(number).utf8
            isBinary = false
        case .double(let number):
            memory += String(number).utf8
            isBinary = false
        case .bool(let isTrue):
            memory.append(UInt8(ascii: isTrue ? "t" : "f"))
            isBinary = false
        case .text(let text): memory += text.utf8
        case .utf8(let bytes), .bytes(let bytes): memory += bytes
        case .texts(let texts):
            memory += Self.literal(texts)
            isBinary = false
        }
        starts.append(start)
        lengths.append(Int32(memory.count - start))
        formats.append(isBinary ? 1 : 0)
        // libpq expects a zero byte after a value in text format.
        memory.append(0)
    }

    /// > Source: PostgreSQL, "Arrays", array input syntax.
    private static func literal(_ texts: [String]) -> [UInt8] {
        var literal: [UInt8] = [UInt8(ascii: "{")]
        for (index, text) in texts.enumerated() {
            if index > 0 { literal.append(UInt8(ascii: ",")) }
            literal.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { literal.append(UInt8(ascii: "\\")) }
                literal.append(byte)
            }
            literal.append(UInt8(ascii: "\""))
        }
        literal.append(UInt8(ascii: "}"))
        return literal
    }

    /// The pointers are valid only during the call.
    func withLibPQ<Result>(
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        memory.withUnsafeBytes { memory in
            let base = memory.bindMemory(to: CChar.self).baseAddress
            let values = starts.map { start in start.flatMap { start in base.map { $0 + start } } }
            return values.withUnsafeBufferPointer { values in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(Int32(values.count), values.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
