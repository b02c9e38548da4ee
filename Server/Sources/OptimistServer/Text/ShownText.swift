// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension Unicode.Scalar {
    /// Whether a terminal or a page acts on the character instead of showing it: control characters, line separators,
    /// and characters that reverse text. Joiners, as in emoji, and direction marks, as in Hebrew and Arabic device
    /// names, do not count.
    package var controls: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case _ where ["\u{200E}", "\u{200F}", "\u{61C}"].contains(self): false
        default: properties.isBidiControl
        }
    }

    var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}

extension String {
    /// The text with every control character written as a JSON escape, such as `\u001b`. In JSON such characters occur
    /// only inside strings, so its meaning is unchanged.
    ///
    /// - Parameter kept: The characters to leave as they are. Default: none.
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

    /// The text as a field of a log line, quoted unless it is a plain word, so that it cannot imitate another field or
    /// line.
    package var inLogField: String {
        let isPlain = !isEmpty && utf8.allSatisfy { $0 > 32 && $0 < 127 && !#""'=\"#.utf8.contains($0) }
        return isPlain ? self : JSON.string(self).description.shown()
    }

    /// The text escaped for HTML and SVG. It works on scalars, so a combining mark next to a special character cannot
    /// hide it.
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
