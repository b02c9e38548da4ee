// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

extension ValueForm.DateForm {
    init(_ strategy: DatabaseDateEncodingStrategy) {
        switch strategy {
        case .timeIntervalSince1970, .secondsSince1970: self = .seconds
        case .millisecondsSince1970: self = .milliseconds
        default: self = .text
        }
    }

    static func supports(_ strategy: DatabaseDateEncodingStrategy) -> Bool {
        switch strategy {
        case .deferredToDate, .timeIntervalSince1970, .secondsSince1970, .millisecondsSince1970: true
        default: false
        }
    }

    /// Returns the UTC date of a stored value. Nil if the value is not a date, or would not convert back unchanged.
    func wire(_ storage: DatabaseValue.Storage) -> JSON? {
        let text: String? =
            switch (self, storage) {
            case (.text, .string(let text)): Self.wireText(text)
            case (.seconds, .int64(let seconds)): Moment(seconds, each: .second)?.text
            case (.seconds, .double(let seconds)): Moment(seconds, each: .second)?.text
            case (.milliseconds, .int64(let milliseconds)): Moment(milliseconds, each: .millisecond)?.text
            case (.milliseconds, .double(let milliseconds)): Moment(milliseconds, each: .millisecond)?.text
            default: nil
            }
        return text.map(JSON.string)
    }

    /// Converts GRDB's text, a UTC date with a space in place of the T and without the Z.
    private static func wireText(_ text: String) -> String? {
        guard (19...29).contains(text.utf8.count) else { return nil }
        var bytes = Array(text.utf8)
        guard bytes[10] == UInt8(ascii: " ") else { return nil }
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "Z"))
        let wire = String(decoding: bytes, as: UTF8.self)
        return UTCDate.isValid(wire) ? wire : nil
    }

    /// Returns the stored form of a UTC date, or nil if the text is not one.
    func stored(_ text: String) -> DatabaseValue? {
        switch self {
        case .text:
            guard UTCDate.isValid(text) else { return nil }
            var bytes = Array(text.utf8.dropLast())
            bytes[10] = UInt8(ascii: " ")
            return String(decoding: bytes, as: UTF8.self).databaseValue
        case .seconds: return Moment(text)?.count(of: .second).databaseValue
        case .milliseconds:
            guard let moment = Moment(text) else { return nil }
            return moment.wholeMilliseconds?.databaseValue ?? moment.count(of: .millisecond).databaseValue
        }
    }
}
