// This source file is part of the Optimist open source project, under the MIT licence.

/// The bytes of a key, which descriptions and reflection do not show.
package struct SecretKey: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var description: String { "a key of \(bytes.count) bytes" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
