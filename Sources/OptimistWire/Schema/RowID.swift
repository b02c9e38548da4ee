// This source file is part of the Optimist open source project, under the MIT licence.

/// A row's id on the wire: a lower-case UUID.
@_spi(Internals) public enum RowID {
    /// Whether a text is a lower-case UUID of 36 characters, such as `4b1c2f0e-5a77-4c1d-9f0b-2d6f8a90c1e9`. Any
    /// version is allowed.
    public static func isValid(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var text = text
        return text.withUTF8 { bytes in
            bytes.indices.allSatisfy { index in
                switch (index, bytes[index]) {
                case (8, let byte), (13, let byte), (18, let byte), (23, let byte): byte == UInt8(ascii: "-")
                case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")): true
                default: false
                }
            }
        }
    }
}
