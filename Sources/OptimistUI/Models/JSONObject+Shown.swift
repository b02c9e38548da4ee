// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension JSONObject {
    struct Shown: Hashable {
        var name: String
        var text: String
    }

    /// The members in order, with values formatted for display.
    var shown: [Shown] { members.map { Shown(name: $0.key, text: Self.text($0.value)) } }

    private static func text(_ value: JSON) -> String {
        switch value {
        case .null: "–"
        case .string(let text): text
        case .bool(let isTrue): isTrue ? "Yes" : "No"
        default: value.description
        }
    }
}
