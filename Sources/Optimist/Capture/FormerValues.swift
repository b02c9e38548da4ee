// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The values that a write replaces, as a trigger passes them to its SQL function: for each column its name (null if
/// the write does not replace the value) and its value.
struct FormerValues {
    let arguments: UnsafeBufferPointer<OpaquePointer?>

    /// The replaced values by column, as SQL literals, in the format of `optimist_edit.base`.
    var json: [UInt8] {
        var json = [UInt8(ascii: "{")]
        for place in stride(from: 0, to: arguments.count - 1, by: 2) {
            guard case .text(let name) = ValueView(arguments[place]) else { continue }
            if json.count > 1 { json.append(UInt8(ascii: ",")) }
            writeJSONString(name.bindMemory(to: UInt8.self), to: &json)
            json.append(UInt8(ascii: ":"))
            SQLLiteral.bytes(of: ValueView(arguments[place + 1])).withUnsafeBufferPointer {
                writeJSONString($0, to: &json)
            }
        }
        json.append(UInt8(ascii: "}"))
        return json
    }
}
