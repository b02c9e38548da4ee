// This source file is part of the Optimist open source project, under the MIT licence.

/// The members of a JSON object, in the order in which they were written.
///
/// Two objects are equal when they have the same members, in whatever order. Two names are the same if their UTF-8 is. Looking a
/// member up walks the list: the objects of the protocol are small, and its large maps are only walked.
public struct JSONObject: Sendable {
    /// A name and its value.
    public typealias Member = (key: String, value: JSON)

    /// All members, in order.
    public private(set) var members: [Member]

    /// Makes an object of members in the given order. Without an argument it is empty.
    ///
    /// - Parameter members: Each name once. A name that comes twice is not noticed, and readers refuse the text.
    public init(_ members: [Member] = []) { self.members = members }

    /// How many members there are.
    public var count: Int { members.count }
    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }

    /// The first member of a name, or nil if there is none.
    ///
    /// Setting a value replaces the member in its place or appends a new one. Setting nil removes it.
    ///
    /// - Complexity: O(n) for n members.
    public subscript(key: String) -> JSON? {
        get { members.firstIndex { MemberName.areSame($0.key, key) }.map { members[$0].value } }
        set {
            let index = members.firstIndex { MemberName.areSame($0.key, key) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// Appends a member without looking whether the name is there already: the caller knows that it is not.
    public mutating func append(_ key: String, _ value: JSON) { members.append((key, value)) }
}

extension JSONObject: Hashable {
    public static func == (a: Self, b: Self) -> Bool {
        guard a.count == b.count else { return false }
        if zip(a.members, b.members).allSatisfy({ MemberName.areSame($0.key, $1.key) && $0.value == $1.value }) {
            return true
        }
        let other = Dictionary(
            b.members.map { (MemberName($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
        return a.members.allSatisfy { other[MemberName($0.key)] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(members.reduce(0) { $0 ^ $1.key.hashValue })
    }
}

extension JSONObject: CustomStringConvertible {
    /// The compact JSON text, with members in the order in which they stand.
    public var description: String { JSON.object(self).description }
}

extension JSONObject: ExpressibleByDictionaryLiteral, Sequence {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
    public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
}

/// A member's name, compared by its UTF-8. Swift's own comparison takes a composed and a decomposed letter for the same.
struct MemberName: Hashable {
    private let text: String

    init(_ text: String) { self.text = text }

    static func == (a: Self, b: Self) -> Bool { areSame(a.text, b.text) }

    /// Whether two names have the same UTF-8. Swift's comparison is quicker, and equal UTF-8 is always equal to it.
    static func areSame(_ a: String, _ b: String) -> Bool { a == b && a.utf8.elementsEqual(b.utf8) }

    static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

    func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
