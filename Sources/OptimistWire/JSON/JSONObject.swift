// This source file is part of the Optimist open source project, under the MIT licence.

/// The members of a JSON object, in their original order.
///
/// Two objects are equal when they have the same members, in any order. Names are equal if their UTF-8 is equal.
/// Looking up a member is a linear search: the protocol's objects are small, and its large maps are only iterated.
public struct JSONObject: Sendable {
    /// A name and its value.
    public typealias Member = (key: String, value: JSON)

    /// All members, in order.
    public private(set) var members: [Member]

    /// Makes an object of members in the given order. Default: empty.
    ///
    /// - Parameter members: Each name must be unique. Duplicates are not detected here, but readers refuse the text.
    public init(_ members: [Member] = []) { self.members = members }

    /// The number of members.
    public var count: Int { members.count }
    /// Whether the object is empty.
    public var isEmpty: Bool { members.isEmpty }

    /// The first member with a name, or nil.
    ///
    /// Setting a value replaces the member in place or appends a new one. Setting nil removes it.
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

    /// Appends a member. The caller makes sure that the name is new.
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
    /// The compact JSON text, with members in their original order.
    public var description: String { JSON.object(self).description }
}

extension JSONObject: ExpressibleByDictionaryLiteral, Sequence {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
    public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
}

/// A member's name, compared by its UTF-8. Swift's own comparison treats composed and decomposed letters as equal.
struct MemberName: Hashable {
    private let text: String

    init(_ text: String) { self.text = text }

    static func == (a: Self, b: Self) -> Bool { areSame(a.text, b.text) }

    /// Whether two names have the same UTF-8. Swift's faster comparison runs first: it is true whenever the UTF-8 is
    /// equal.
    static func areSame(_ a: String, _ b: String) -> Bool { a == b && a.utf8.elementsEqual(b.utf8) }

    static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

    func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
