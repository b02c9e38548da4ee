// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension Unicode.Scalar {
    /// Whether a terminal or a page obeys the character instead of showing it: it is a control character, begins a line, or
    /// turns the direction of text. Joiners, as in emoji, are shown, and marks of direction, as in the names of devices in
    /// Hebrew and Arabic, turn nothing around.
    package var controls: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case _ where ["\u{200E}", "\u{200F}", "\u{61C}"].contains(self): false
        default: properties.isBidiControl
        }
    }

    /// Whether a reader sees the character by itself.
    var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}

extension String {
    /// The text as a terminal and a log show it: every character that controls something is written as JSON's escape, such
    /// as `\u001b`. A JSON text has these characters only within its strings, so it means the same afterwards.
    ///
    /// - Parameter kept: The characters that stay as they are. Default: none.
    package func shown(keeping kept: Set<Unicode.Scalar> = []) -> String {
        func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar.controls && !kept.contains(scalar) }
        guard unicodeScalars.contains(where: isEscaped) else { return self }
        var shown = UnicodeScalarView()
        for scalar in unicodeScalars {
            guard isEscaped(scalar) else {
                shown.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                shown.append(
                    contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
            }
        }
        return String(shown)
    }

    /// The text as a field of a log's line: in quotes unless it is a plain word, so that it looks like no other field and no
    /// other line.
    package var inLogField: String {
        let isPlain = !isEmpty && utf8.allSatisfy { $0 > 32 && $0 < 127 && !#""'=\"#.utf8.contains($0) }
        return isPlain ? self : JSON.string(self).description.shown()
    }

    /// The text with the characters that mean something in HTML and SVG written out, scalar by scalar: a combining mark
    /// before or after one of them changes nothing.
    package var inHTML: String {
        var html = UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "&": html.append(contentsOf: "&amp;".unicodeScalars)
            case "<": html.append(contentsOf: "&lt;".unicodeScalars)
            case ">": html.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": html.append(contentsOf: "&quot;".unicodeScalars)
            case "'": html.append(contentsOf: "&#39;".unicodeScalars)
            case _ where scalar.controls: html.append("\u{FFFD}")
            default: html.append(scalar)
            }
        }
        return String(html)
    }
}
