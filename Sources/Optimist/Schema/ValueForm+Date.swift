// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

extension ValueForm.DateForm {
    init(_ strategy: DatabaseDateEncodingStrategy) {
        switch strategy {
        case .timeIntervalSince1970, .secondsSince1970: self = .seconds
        case .millisecondsSince1970: self = .milliseconds
        default: self = .text
        }
    }

    /// Whether values of this GRDB strategy can go over the wire and back.
    static func supports(_ strategy: DatabaseDateEncodingStrategy) -> Bool {
        switch strategy {
        case .deferredToDate, .timeIntervalSince1970, .secondsSince1970, .millisecondsSince1970: true
        default: false
        }
    }

    /// The UTC date of a stored value, or nil if the value is not a date.
    func wire(_ storage: DatabaseValue.Storage) -> JSON? {
        let text: String? =
            switch (self, storage) {
            case (.text, .string(let text)): Self.wireText(text)
            case (.seconds, .int64(let seconds)): Self.format(milliseconds: Double(seconds) * 1000)
            case (.seconds, .double(let seconds)): Self.format(milliseconds: seconds * 1000)
            case (.milliseconds, .int64(let milliseconds)): Self.format(milliseconds: Double(milliseconds))
            default: nil
            }
        guard let text, UTCDate.isValid(text) else { return nil }
        return .string(text)
    }

    /// The wire form of GRDB's text, which is a UTC date with a space in place of the T, and without the Z.
    private static func wireText(_ text: String) -> String? {
        guard text.utf8.count >= 19 else { return nil }
        var bytes = Array(text.utf8)
        guard bytes[10] == UInt8(ascii: " ") else { return nil }
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Formats a time. Foundation cuts off everything below milliseconds, so this adds half a millisecond: the time can
    /// then never fall back to the millisecond before.
    private static func format(milliseconds: Double) -> String {
        Date(timeIntervalSince1970: (milliseconds.rounded() + 0.5) / 1000)
            .ISO8601Format(.iso8601WithTimeZone(includingFractionalSeconds: true))
    }

    /// The stored form of a UTC date, or nil if the text is not a date.
    func stored(_ text: String) -> DatabaseValue? {
        guard UTCDate.isValid(text) else { return nil }
        switch self {
        case .text:
            var bytes = Array(text.utf8.dropLast())
            bytes[10] = UInt8(ascii: " ")
            return String(decoding: bytes, as: UTF8.self).databaseValue
        case .seconds: return Self.seconds(text)?.databaseValue
        case .milliseconds: return Self.seconds(text).map { Int64(($0 * 1000).rounded()).databaseValue }
        }
    }

    private static func seconds(_ text: String) -> Double? {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.utf8.count > 20)
        // Foundation counts from 2001, so its conversion to 1970 loses digits. Rounding to milliseconds restores them.
        return (try? style.parse(text)).map { ($0.timeIntervalSince1970 * 1000).rounded() / 1000 }
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    fileprivate static func iso8601WithTimeZone(includingFractionalSeconds: Bool) -> Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(includingFractionalSeconds: includingFractionalSeconds)
    }
}
