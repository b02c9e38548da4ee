// This source file is part of the Optimist open source project, under the MIT licence.

/// The bytes of a key, which descriptions and reflection do not show.
struct SecretKey: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var description: String { "a key of \(bytes.count) bytes" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
