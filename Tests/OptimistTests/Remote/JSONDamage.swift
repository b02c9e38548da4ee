// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistWire

/// Damages the answers of a server. Some damaged answers can still be read, with another meaning.
struct JSONDamage {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Values that replace the expected values.
    private static let strangers: [JSON] = [
        nil, true, 0, -1, 7, .int(.max), .int(.min), 1e300, -1e300, 0.5, "", "x", "e1.9", "e1.-9", "a", "error",
        "0000000000000001-A", "step:a", [], [[]], [nil, 1, "a"], [:], ["@gen": -1], ["@gen": 3, "@hlc": "x"],
        ["type": 5], ["type": "rateLimit", "retryAfter": -1e300], ["type": "rateLimit", "retryAfter": 1e300],
        ["a": nil, "b": [:]], ["": ["": nil]],
    ]

    /// Returns the value with some parts replaced, removed, duplicated or exchanged.
    mutating func damaged(_ json: JSON) -> JSON {
        (0..<Int.random(in: 1...4, using: &random)).reduce(json) { json, _ in damagedOnce(json) }
    }

    private mutating func damagedOnce(_ json: JSON) -> JSON {
        let isHere = Int.random(in: 0..<4, using: &random) == 0
        switch json {
        case .array(var elements) where !elements.isEmpty && !isHere:
            let place = Int.random(in: elements.indices, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: elements.remove(at: place)
            case 1: elements.append(elements[place])
            case 2: elements.shuffle(using: &random)
            default: elements[place] = damagedOnce(elements[place])
            }
            return .array(elements)
        case .object(let object) where !object.isEmpty && !isHere:
            var members = object.members
            let place = Int.random(in: members.indices, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: members.remove(at: place)
            case 1: members[place].key += "x"
            case 2:
                let other = Int.random(in: members.indices, using: &random)
                (members[place].value, members[other].value) = (members[other].value, members[place].value)
            default: members[place].value = damagedOnce(members[place].value)
            }
            return .object(JSONObject(members))
        default: return Self.strangers.randomElement(using: &random) ?? nil
        }
    }

    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(Array("{}[]\",:0-eE.\\u".utf8).randomElement(using: &random) ?? 0, at: place)
            default:
                let end = min(place + Int.random(in: 1...20, using: &random), bytes.count)
                bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &random))
            }
        }
        return bytes
    }
}

extension JSON {
    static func response(_ responses: [JSON]) -> JSON {
        ["methodResponses": .array(responses), "sessionState": "s", "serverTime": "2026-08-01T12:00:00Z"]
    }
}
