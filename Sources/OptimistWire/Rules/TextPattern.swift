// This source file is part of the Optimist open source project, under the MIT licence.

/// A pattern for whole texts, in the interoperable dialect of RFC 9485 (I-Regexp).
///
/// The dialect has characters, `.`, classes such as `[a-z_]`, `[^0-9]` and `\p{Lu}`, groups, `|`, and the quantifiers
/// `*`, `+`, `?` and `{n,m}`. A pattern always matches the whole text, so `^` and `$` stand for nothing: they are
/// refused outside a class, except as `\^` and `[$]`.
///
/// The time of a match is proportional to the length of the text times the size of the pattern, whatever the two are, and
/// both are limited. Every device and server gives the same answer, except that `\p` follows the Unicode version
/// of the system.
///
/// > Source: RFC 9485, "I-Regexp: An Interoperable Regular Expression Format"; Thompson, "Regular Expression Search
/// > Algorithm", CACM 1968.
public struct TextPattern: Sendable {
    /// The pattern as it was written.
    public let text: String
    /// Why the text is no pattern, as a sentence. Nil: it is one.
    public let fault: String?
    private let program: PatternProgram

    /// The most bytes of a pattern.
    static let maxBytes = 1_000
    /// The most bytes of UTF-8 of a text that can match. A longer text matches no pattern.
    package static let maxTextBytes = 4_096

    /// Reads a pattern. If the text is not a pattern, ``fault`` says why, and nothing matches.
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

    /// Whether a whole text matches.
    public func matches(_ text: String) -> Bool { match(text).isMatch }

    /// Whether a whole text matches, and how much work it was to find out: at most a small multiple of the text's length
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

    /// The pattern as it was written.
    public var description: String { text }
}

/// Why a text is no pattern.
struct PatternFault: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

/// A set of Unicode scalars.
struct ScalarSet: Hashable, Sendable {
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    /// Categories such as `L` or `Lu`; the second member says whether the scalars outside it are meant.
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
    /// The name of the category in the Unicode standard.
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
