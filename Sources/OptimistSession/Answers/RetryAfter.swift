// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// The value of a `Retry-After` field: seconds or a date.
///
/// > Source: RFC 9110, section 10.2.3.
package enum RetryAfter {
    /// Returns the delay in seconds, negative for a past date. Nil for any other text, and for a date if `date` is nil.
    ///
    /// - Parameter date: The time of the answer. Nil: unknown.
    package static func seconds(_ text: String, since date: Date?) -> Double? {
        if let seconds = decimal(text) { return seconds }
        guard let due = HTTPDate.parse(text), let date else { return nil }
        return due.timeIntervalSince(date)
    }

    /// Parses a decimal number. More lenient than the RFC: a sign, fraction or exponent is allowed. `Double` alone
    /// would also accept `0x10` and `nan`.
    package static func decimal(_ text: String) -> Double? {
        guard text.utf8.allSatisfy("0123456789.+-eE".utf8.contains), let number = Double(text), number.isFinite else {
            return nil
        }
        return number
    }
}
