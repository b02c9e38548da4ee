// This source file is part of the Optimist open source project, under the MIT licence.

/// A pattern for complete texts, in the interoperable dialect of RFC 9485 (I-Regexp).
///
/// The dialect has characters, `.`, classes such as `[a-z_]`, `[^0-9]` and `\p{Lu}`, groups, `|`, and the quantifiers
/// `*`, `+`, `?` and `{n,m}`. A pattern always matches the complete text, so `^` and `$` are not anchors; outside a
/// class only `\^` and `[$]` are accepted.
///
/// Matching takes time proportional to the length of the text times the size of the pattern, and both are limited. All
/// devices and servers agree on the result, except that `\p` follows the Unicode version of the system.
///
/// > Source: RFC 9485, "I-Regexp: An Interoperable Regular Expression Format"; Thompson, "Regular Expression Search
/// > Algorithm", CACM 1968.
public struct TextPattern: Sendable {
    /// The pattern's source text.
    public let text: String
    /// Why the pattern is invalid, as a sentence. Nil if it is valid.
    public let fault: String?
    private let program: PatternProgram

    /// The maximum size of a pattern in bytes.
    static let maxBytes = 1_000
    /// The maximum size of a text in bytes of UTF-8. A longer text never matches.
    package static let maxTextBytes = 4_096

    /// Parses a pattern. If it is invalid, ``fault`` says why, and the pattern matches nothing.
    public init(_ text: String) {
        self.text = text
        do throws(PatternFault) {
            guard text.utf8.count <= Self.maxBytes else {
                throw PatternFault("it is longer than \(Self.maxBytes) bytes.")
            }
            program = try PatternProgram(PatternReader.read(text))
            fault = nil
        } catch {
            program = PatternProgram()
            fault = error.sentence
        }
    }

    /// Whether the complete text matches.
    public func matches(_ text: String) -> Bool { match(text).isMatch }

    /// Returns whether the complete text matches, and the work done: at most a small multiple of the text's length
    /// times the size of the pattern.
    package func match(_ text: String) -> (isMatch: Bool, work: Int) {
        text.utf8.count <= Self.maxTextBytes ? program.match(text.unicodeScalars) : (false, 0)
    }
}

extension TextPattern: Hashable {
    public static func == (a: Self, b: Self) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    public func hash(into hasher: inout Hasher) { hasher.combine(Array(text.utf8)) }
}

extension TextPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral value: String) { self.init(value) }

    /// The pattern's source text.
    public var description: String { text }
}

/// Why a pattern is invalid.
struct PatternFault: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

/// A set of Unicode scalars.
struct ScalarSet: Hashable, Sendable {
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    /// Categories such as `L` or `Lu`, or their complements.
    var categories: [Category] = []
    var isNegated = false

    struct Category: Hashable, Sendable {
        var name: String
        var isComplement: Bool

        func contains(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.generalCategory.abbreviation.hasPrefix(name) != isComplement
        }
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let isNamed =
            ranges.contains { $0.contains(scalar) } || categories.contains { $0.contains(scalar) }
        return isNamed != isNegated
    }
}

extension Unicode.GeneralCategory {
    /// The category's abbreviation in the Unicode standard.
    var abbreviation: String {
        switch self {
        case .uppercaseLetter: "Lu"
        case .lowercaseLetter: "Ll"
        case .titlecaseLetter: "Lt"
        case .modifierLetter: "Lm"
        case .otherLetter: "Lo"
        case .nonspacingMark: "Mn"
        case .spacingMark: "Mc"
        case .enclosingMark: "Me"
        case .decimalNumber: "Nd"
        case .letterNumber: "Nl"
        case .otherNumber: "No"
        case .connectorPunctuation: "Pc"
        case .dashPunctuation: "Pd"
        case .openPunctuation: "Ps"
        case .closePunctuation: "Pe"
        case .initialPunctuation: "Pi"
        case .finalPunctuation: "Pf"
        case .otherPunctuation: "Po"
        case .mathSymbol: "Sm"
        case .currencySymbol: "Sc"
        case .modifierSymbol: "Sk"
        case .otherSymbol: "So"
        case .spaceSeparator: "Zs"
        case .lineSeparator: "Zl"
        case .paragraphSeparator: "Zp"
        case .control: "Cc"
        case .format: "Cf"
        case .privateUse: "Co"
        case .surrogate: "Cs"
        case .unassigned: "Cn"
        @unknown default: "Cn"
        }
    }
}
