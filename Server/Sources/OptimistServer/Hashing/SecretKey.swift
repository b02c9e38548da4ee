// This source file is part of the Optimist open source project, under the MIT licence.

/// The bytes of a key. They do not appear in descriptions of the key or of values that contain it.
struct SecretKey: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var description: String { "a key of \(bytes.count) bytes" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
