// This source file is part of the Optimist open source project, under the MIT licence.

/// The syntax tree of a pattern.
indirect enum PatternNode: Sendable {
    case scalars(ScalarSet)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// `most` is nil for an unbounded repetition.
    case repeated(PatternNode, least: Int, most: Int?)
}

/// Parses a pattern.
struct PatternReader {
    private var rest: Substring.UnicodeScalarView
    private var depth = 0

    private static let maxDepth = 50
    private static let maxRepeats = 1_000
    private static let escapable = Set("()*+-.?[\\]^{|}".unicodeScalars)
    private static let categories: [Character: String] = [
        "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "Z": "lps", "S": "ckmo", "C": "cfno",
    ]

    static func read(_ text: String) throws(PatternFault) -> PatternNode {
        var reader = PatternReader(rest: Substring(text).unicodeScalars)
        let node = try reader.choice()
        guard reader.rest.isEmpty else { throw PatternFault("a \")\" closes no group.") }
        return node
    }

    private init(rest: Substring.UnicodeScalarView) { self.rest = rest }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func next(_ expected: String) throws(PatternFault) -> Unicode.Scalar {
        guard let scalar = rest.popFirst() else { throw PatternFault("it ends where \(expected) was expected.") }
        return scalar
    }

    private mutating func choice() throws(PatternFault) -> PatternNode {
        var branches = [try branch()]
        while take("|") { branches.append(try branch()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func branch() throws(PatternFault) -> PatternNode {
        var pieces: [PatternNode] = []
        while let scalar = rest.first, scalar != "|", scalar != ")" { pieces.append(try piece()) }
        return .sequence(pieces)
    }

    private mutating func piece() throws(PatternFault) -> PatternNode {
        let atom = try atom()
        var node = atom
        if take("*") {
            node = .repeated(atom, least: 0, most: nil)
        } else if take("+") {
            node = .repeated(atom, least: 1, most: nil)
        } else if take("?") {
            node = .repeated(atom, least: 0, most: 1)
        } else if take("{") {
            node = try counted(atom)
        }
        if let scalar = rest.first, "*+?{".unicodeScalars.contains(scalar), case .repeated = node {
            throw PatternFault("a quantifier follows another one: put the first into a group.")
        }
        return node
    }

    private mutating func counted(_ atom: PatternNode) throws(PatternFault) -> PatternNode {
        let least = try count()
        var most: Int? = least
        if take(",") { most = rest.first == "}" ? nil : try count() }
        guard take("}") else { throw PatternFault("a \"{\" needs the form {n}, {n,} or {n,m}.") }
        if let most, most < least { throw PatternFault("in {n,m} the first number is above the second.") }
        return .repeated(atom, least: least, most: most)
    }

    private mutating func count() throws(PatternFault) -> Int {
        var digits = ""
        while let scalar = rest.first, ("0"..."9").contains(scalar), digits.count < 5 {
            digits.unicodeScalars.append(scalar)
            rest.removeFirst()
        }
        guard let count = Int(digits) else { throw PatternFault("a \"{\" needs the form {n}, {n,} or {n,m}.") }
        guard count <= Self.maxRepeats else { throw PatternFault("it repeats more than \(Self.maxRepeats) times.") }
        return count
    }

    private mutating func atom() throws(PatternFault) -> PatternNode {
        let scalar = try next("a character")
        switch scalar {
        case "(":
            depth += 1
            guard depth <= Self.maxDepth else { throw PatternFault("its groups are nested too deeply.") }
            let node = try choice()
            depth -= 1
            guard take(")") else { throw PatternFault("a \"(\" is not closed.") }
            return node
        case "[": return .scalars(try characterClass())
        case ".": return .scalars(ScalarSet(ranges: ["\n"..."\n", "\r"..."\r"], isNegated: true))
        case "\\":
            var set = ScalarSet()
            if let single = try escaped(&set) { set.ranges.append(single...single) }
            return .scalars(set)
        case "*", "+", "?", "{":
            throw PatternFault("a quantifier follows nothing: write \"\\\(scalar)\" for \"\(scalar)\".")
        case "]", "}": throw PatternFault("\"\(scalar)\" closes nothing: write \"\\\(scalar)\" instead.")
        case "^", "$":
            throw PatternFault(
                "it always matches the whole text: remove \"\(scalar)\", or write \\^ or [$] instead.")
        default: return .scalars(ScalarSet(ranges: [scalar...scalar]))
        }
    }

    /// Reads the rest of an escape after the backslash.
    ///
    /// - Returns: The character, or nil after adding a category to `set`.
    private mutating func escaped(_ set: inout ScalarSet) throws(PatternFault) -> Unicode.Scalar? {
        let scalar = try next("a character after \"\\\"")
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "p", "P":
            var name = ""
            guard take("{") else { throw PatternFault("\\\(scalar) needs a category, such as \\\(scalar){Lu}.") }
            while let letter = rest.first, letter != "}", name.count < 3 {
                name.unicodeScalars.append(letter)
                rest.removeFirst()
            }
            guard take("}"), let first = name.first, let second = Self.categories[first],
                name.count == 1 || (name.count == 2 && name.last.map(second.contains) == true)
            else { throw PatternFault("\\\(scalar) needs a category of Unicode, such as \\\(scalar){Lu}.") }
            set.categories.append(ScalarSet.Category(name: name, isComplement: scalar == "P"))
            return nil
        case _ where Self.escapable.contains(scalar): return scalar
        default: throw PatternFault("\"\\\(scalar)\" is not supported in this dialect (RFC 9485).")
        }
    }

    private mutating func characterClass() throws(PatternFault) -> ScalarSet {
        var set = ScalarSet()
        set.isNegated = take("^")
        if take("-") { set.ranges.append("-"..."-") }
        while !take("]") {
            let first = try next("\"]\"")
            if first == "-", take("]") {
                set.ranges.append("-"..."-")
                return set
            }
            guard let start = try member(first, &set) else { continue }
            var following = rest
            guard following.popFirst() == "-", following.first != "]" else {
                set.ranges.append(start...start)
                continue
            }
            rest = following
            guard let end = try member(try next("\"]\""), &set), start <= end else {
                throw PatternFault("a range in [ ] needs two characters, the lower one first.")
            }
            set.ranges.append(start...end)
        }
        if set.ranges.isEmpty, set.categories.isEmpty { throw PatternFault("[ ] needs a character.") }
        return set
    }

    private mutating func member(
        _ scalar: Unicode.Scalar, _ set: inout ScalarSet
    ) throws(PatternFault) -> Unicode.Scalar? {
        switch scalar {
        case "\\": return try escaped(&set)
        case "[", "-": throw PatternFault("in [ ], write \"\\\(scalar)\" for \"\(scalar)\".")
        default: return scalar
        }
    }
}
