// This source file is part of the Optimist open source project, under the MIT licence.

/// Fields encoded as `application/x-www-form-urlencoded`.
struct Form {
    private let fields: [(name: String, value: String)]

    init(_ fields: [(name: String, value: String)]) { self.fields = fields }

    var bytes: [UInt8] {
        Array(fields.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&").utf8)
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { escaped, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += byte < 16 ? "%0" : "%"
                escaped += String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
