// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) public import OptimistWire

/// Removes values from a signature, so that it does not contain personal data.
public enum SafeMessage {
    /// Returns a signature that is safe to send.
    ///
    /// A message of Swift's runtime is kept. Any other message keeps only its words of lower-case ASCII letters: text
    /// in quotes or brackets is removed, as is every word with a capital letter, a digit or a sign such as `@`, `/` or
    /// `=`. This removes names, ids, paths, addresses and values. A source file's path is reduced to the file name.
    /// Only the first five frames are kept, and each text is cut to 200 bytes.
    public static func cut(_ signature: CrashSignature) -> CrashSignature {
        CrashSignature(
            kind: SafeText.cut(signature.kind, to: HealthReport.Limit.textBytes).nonEmpty ?? "unknown",
            message: message(signature.message),
            frames: signature.frames.prefix(HealthReport.Limit.frames).compactMap(frame))
    }

    /// Returns a message without values.
    public static func message(_ text: String) -> String {
        if RuntimeFailure.messages.contains(text) { return text }
        var text = text
        // An unclosed quote or bracket extends to the end.
        for quoted in [
            #/"[^"]*"?/#, #/“[^”]*”?/#, #/«[^»]*»?/#, #/`[^`]*`?/#, #/(?:^|\s)'[^']*'?/#, #/\([^)]*\)?/#,
            #/\[[^\]]*\]?/#, #/\{[^}]*\}?/#, #/<[^>]*>?/#,
        ] {
            text = text.replacing(quoted, with: " … ")
        }
        let words = text.split { $0.isWhitespace || $0.isNewline }.map { isPlain($0) ? String($0) : "…" }
        var kept: [String] = []
        for word in words where word != "…" || kept.last != "…" { kept.append(word) }
        return SafeText.cut(kept.joined(separator: " "), to: HealthReport.Limit.textBytes)
    }

    private static func isPlain(_ word: Substring) -> Bool { word.wholeMatch(of: #/[a-z]+[.,:;!?]?/#) != nil }

    private static func frame(_ frame: CrashSignature.Frame) -> CrashSignature.Frame? {
        let image = frame.image.lowercased().filter(\.isHexDigit)
        guard frame.offset >= 0, !image.isEmpty else { return nil }
        return CrashSignature.Frame(
            image: String(image.prefix(HealthReport.Limit.nameBytes)), offset: frame.offset,
            function: frame.function.flatMap { SafeText.cut($0, to: HealthReport.Limit.textBytes).nonEmpty },
            file: frame.file.flatMap { file in
                SafeText.cut(String(file.split(separator: "/").last ?? ""), to: HealthReport.Limit.textBytes).nonEmpty
            }, line: frame.line.flatMap { (1...HealthReport.Limit.count).contains($0) ? $0 : nil })
    }
}

enum SafeText {
    static func name(_ text: String) -> String { cut(text, to: HealthReport.Limit.nameBytes).nonEmpty ?? "-" }

    /// Removes control characters, then characters from the end until the text fits into the limit.
    static func cut(_ text: String, to bytes: Int) -> String {
        var scalars = String.UnicodeScalarView(text.unicodeScalars.filter(HealthText.isPrintable))
        var size = String(scalars).utf8.count
        while size > bytes, let last = scalars.popLast() { size -= UTF8.width(last) }
        return String(scalars)
    }
}

extension String {
    var nonEmpty: String? { isEmpty ? nil : self }
}
