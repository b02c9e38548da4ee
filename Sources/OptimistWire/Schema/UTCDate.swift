// This source file is part of the Optimist open source project, under the MIT licence.

/// A date on the wire: RFC 3339 in UTC with a capital T and Z, as RFC 8620 §1.4 requires.
@_spi(Internals) public enum UTCDate {
    /// Whether a text is such a date and exists in the calendar: `2026-11-21T10:00:00Z`, or with a fraction of 1 to 9
    /// digits. A leap second, `:60`, is allowed.
    public static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(isValid)
    }

    private static let pattern = Array("0000-00-00T00:00:00".utf8)

    private static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count == 20 || (22...30).contains(bytes.count), bytes.last == UInt8(ascii: "Z") else {
            return false
        }
        for (index, expected) in pattern.enumerated() {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index])
            if expected == UInt8(ascii: "0") ? !isDigit : bytes[index] != expected { return false }
        }
        if bytes.count > 20 {
            guard bytes[19] == UInt8(ascii: ".") else { return false }
            for byte in bytes[20..<(bytes.count - 1)] where !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                return false
            }
        }
        func number(_ range: Range<Int>) -> Int { range.reduce(0) { $0 * 10 + Int(bytes[$1] - UInt8(ascii: "0")) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        guard (1...12).contains(month), day >= 1, day <= daysInMonth(month, year: year) else { return false }
        return number(11..<13) < 24 && number(14..<16) < 60 && number(17..<19) < 61
    }

    private static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
