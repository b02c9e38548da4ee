// This source file is part of the Optimist open source project, under the MIT licence.

/// The id of a row on the wire: a UUID in lower case.
public enum RowID {
    public static func isValid(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: hexDigit(byte) != nil && !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
            }
        }
    }
}
