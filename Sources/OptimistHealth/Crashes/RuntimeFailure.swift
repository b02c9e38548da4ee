// This source file is part of the Optimist open source project, under the MIT licence.

/// The fixed messages of failures in Swift's runtime. They do not contain values.
enum RuntimeFailure {
    static let foundNil = "Unexpectedly found nil while unwrapping an Optional value"
    static let index = "Index out of range"

    static let messages: Set<String> = [
        foundNil, index, "Unexpectedly found nil while implicitly unwrapping an Optional value",
        "Unexpectedly found nil in an Optional value", "Array index is out of range", "Array index out of range",
        "Negative Array index is out of range", "arithmetic overflow", "Division by zero",
        "Division by zero in remainder operation", "Not enough bits to represent the passed value",
        "Not enough bits to represent a signed value", "Negative value is not representable",
        "Range requires lowerBound <= upperBound", "String index is out of bounds",
        "Insufficient space allocated to copy",
        "Unexpectedly found an error in a try! expression", "force unwrapped a nil value", "type cast failed",
        "unreachable code reached",
    ]

    /// Functions of the standard library that end the program, by part of their mangled name, and the failure that each
    /// implies.
    private static let byFunction: [(part: String, kind: String, message: String)] = [
        ("_diagnoseUnexpectedNilOptional", "Fatal error", foundNil),
        ("_checkSubscript", "Fatal error", index), ("_checkIndex", "Fatal error", index),
        ("$sSayxSicig", "Fatal error", index),
        ("_assertionFailure", "Fatal error", ""), ("_fatalErrorMessage", "Fatal error", ""),
        ("swift_unexpectedError", "Fatal error", "Unexpectedly found an error in a try! expression"),
        ("swift_dynamicCastFailure", "Fatal error", "type cast failed"), ("abort", "Abort", ""),
    ]

    /// The kind and message implied by a crash's innermost frames. The first match in the table wins.
    static func named(by symbols: [String]) -> (kind: String, message: String)? {
        for entry in byFunction where symbols.contains(where: { $0.contains(entry.part) }) {
            return (entry.kind, entry.message)
        }
        return nil
    }
}
