// This source file is part of the Optimist open source project, under the MIT licence.

/// Estimates how much memory a JSON text takes up once it is parsed.
///
/// A text of ten megabytes may become thirty times as large, since each value and each list has a place of its own. So the
/// server counts values and lists before it parses anything.
public enum ParsedSize {
    /// How much one value takes up in the list that holds it. Lists double when they grow.
    private static let valueBytes = 32
    /// How much a list or an object takes up beside its members.
    private static let listBytes = 48

    /// Returns the estimate in bytes, rather too much than too little. A text that is not JSON has an estimate too.
    public static func bytes(of text: UnsafeRawBufferPointer) -> Int {
        var (values, lists) = (1, 0)
        var position = 0
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): position = end(ofStringAt: position, in: text)
            case UInt8(ascii: ","), UInt8(ascii: ":"): values += 1
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                values += 1
                lists += 1
            default: break
            }
            position += 1
        }
        return 3 * text.count + valueBytes * values + listBytes * lists
    }

    /// Returns the place of the quotation mark that ends a string, or the end of the text.
    private static func end(ofStringAt start: Int, in text: UnsafeRawBufferPointer) -> Int {
        var position = start + 1
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): return position
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return position
    }
}
