// This source file is part of the Optimist open source project, under the MIT licence.

/// Estimates how much memory a JSON text takes when it is parsed.
///
/// A text of ten megabytes may grow thirtyfold, because each value and each list is stored separately. The server
/// therefore counts values and lists before it parses anything.
public enum ParsedSize {
    /// The memory for one value in its list. Lists double when they grow.
    private static let valueBytes = 32
    /// The memory for a list or an object, apart from its members.
    private static let listBytes = 48

    /// Returns the estimate in bytes, erring on the high side. The text does not have to be valid JSON.
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
