// This source file is part of the Optimist open source project, under the MIT licence.

/// The id of a row on the wire: a UUID in lower case.
public enum RowID {
    public static func isValid(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        var index = 0
        for byte in text.utf8 {
            switch index {
            case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return false }
            default:
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
                default: return false
                }
            }
            index += 1
        }
        return true
    }
}
