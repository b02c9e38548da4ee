// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser

/// The value of an option that takes one of a few words.
extension RawRepresentable<String> where Self: CaseIterable {
    /// - Throws: `ValidationError` that lists the words.
    init(_ text: String, for option: String) throws {
        guard let value = Self(rawValue: text) else {
            let words = Self.allCases.map(\.rawValue)
            throw ValidationError(
                "\(option) must be \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "").")
        }
        self = value
    }
}
