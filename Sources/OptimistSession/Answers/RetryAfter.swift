// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// The value of a `Retry-After` field: a decimal number of seconds, or a date.
///
/// > Source: RFC 9110, section 10.2.3.
package enum RetryAfter {
    /// Returns the seconds, which may be negative for a date. Nil: it is neither, such as `0x10`, or a date that cannot be
    /// measured.
    ///
    /// - Parameter date: The time at which the answer was made. Nil: not known.
    package static func seconds(_ text: String, since date: Date?) -> Double? {
        if let seconds = decimal(text) { return seconds }
        guard let due = HTTPDate.parse(text), let date else { return nil }
        return due.timeIntervalSince(date)
    }

    /// Reads a decimal number, more generously than the RFC: with a sign, a fraction or an exponent. `Double` itself would read
    /// `0x10` and `nan` too.
    package static func decimal(_ text: String) -> Double? {
        guard text.utf8.allSatisfy("0123456789.+-eE".utf8.contains), let number = Double(text), number.isFinite else {
            return nil
        }
        return number
    }
}
