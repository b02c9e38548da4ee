// This source file is part of the Optimist open source project, under the MIT licence.

extension JSON {
    /// The compact UTF-8 text, with members in their original order.
    ///
    /// > Important: An infinite or NaN ``JSON/double(_:)`` traps, because JSON cannot represent it.
    public var bytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }

    /// The compact UTF-8 text with members sorted by the bytes of their names. Equal values have equal bytes.
    @_spi(Internals) public var canonicalBytes: [UInt8] {
        var output: [UInt8] = []
        sorted.write(to: &output)
        return output
    }

    /// Appends the compact UTF-8 text. Traps on numbers that are not finite, like ``bytes``.
    package func write(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .int(let value): output.append(contentsOf: String(value).utf8)
        case .double(let value):
            precondition(value.isFinite, "JSON cannot represent infinity or NaN")
            output.append(contentsOf: value.description.utf8)
        case .string(let value): writeJSONString(value, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object): object.write(to: &output)
        }
    }

    private var sorted: JSON {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let object):
            .object(
                JSONObject(object.members.map { ($0.key, $0.value.sorted) }.sorted { MemberName.precedes($0.0, $1.0) }))
        default: self
        }
    }
}

extension JSONObject {
    package func write(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            writeJSONString(member.key, to: &output)
            output.append(UInt8(ascii: ":"))
            member.value.write(to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }
}

/// Appends a quoted string. Escapes only the characters that RFC 8259 requires.
func writeJSONString(_ text: String, to output: inout [UInt8]) {
    var text = text
    text.withUTF8 { writeJSONString($0, to: &output) }
}

/// Appends a quoted string of valid UTF-8.
package func writeJSONString(_ utf8: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    var start = 0
    while true {
        let end = PlainText(in: utf8, from: start).end
        output.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<end]))
        if end == utf8.count { break }
        writeEscape(utf8[end], to: &output)
        start = end + 1
    }
    output.append(UInt8(ascii: "\""))
}

private func writeEscape(_ byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x22, 0x5C: output.append(byte)
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    case 0x09: output.append(UInt8(ascii: "t"))
    default:
        output.append(contentsOf: "u00".utf8)
        output.append(contentsOf: (byte < 16 ? "0" : "").utf8)
        output.append(contentsOf: String(byte, radix: 16).utf8)
    }
}
