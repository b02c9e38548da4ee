// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) extension HealthReport {
    /// Why a report is refused.
    public struct Problem: Error, Hashable, Sendable {
        /// Names the invalid member and the expected value.
        public let message: String
    }

    /// Reads a report and ignores unknown members.
    ///
    /// - Throws: ``Problem`` if a member is missing, of the wrong type or beyond ``HealthReport/Limit``, or if the
    ///   numbers are inconsistent.
    public init(json: JSON) throws(Problem) {
        app = try json.name("app")
        install = try json.name("install")
        totals = try json.list("totals", upTo: Limit.totals) { json throws(Problem) in try HealthTotals(json: json) }
    }

    public var json: JSON {
        ["app": .string(app), "install": .string(install), "totals": .array(totals.map(\.json))]
    }
}

@_spi(Internals) extension HealthTotals {
    fileprivate init(json: JSON) throws(HealthReport.Problem) {
        self.init(
            version: try json.name("version"), build: try json.name("build"),
            day: try json.count("day"), launches: try json.count("launches"),
            abruptEnds: try json.count("abruptEnds"), unsentEnds: try json.count("unsentEnds"),
            crashes: try json.count("crashes"), hangs: try json.count("hangs"),
            signatures: try json.list("signatures", upTo: HealthReport.Limit.signatures) {
                json throws(HealthReport.Problem) in try SignatureTotal(json: json)
            })
        guard abruptEnds <= launches, crashes <= abruptEnds, unsentEnds <= abruptEnds else {
            throw HealthReport.Problem(
                message: "\"launches\" is below \"abruptEnds\", or \"abruptEnds\" below \"crashes\" or \"unsentEnds\".")
        }
        guard signatures.allSatisfy({ $0.count <= crashes + hangs }) else {
            throw HealthReport.Problem(message: "The \"count\" of a signature must not exceed the crashes and hangs.")
        }
    }

    public var json: JSON {
        [
            "version": .string(version), "build": .string(build), "day": .int(Int64(day)),
            "launches": .int(Int64(launches)), "abruptEnds": .int(Int64(abruptEnds)),
            "unsentEnds": .int(Int64(unsentEnds)), "crashes": .int(Int64(crashes)), "hangs": .int(Int64(hangs)),
            "signatures": .array(signatures.map(\.json)),
        ]
    }
}

@_spi(Internals) extension SignatureTotal {
    fileprivate init(json: JSON) throws(HealthReport.Problem) {
        self.init(
            signature: try CrashSignature(json: json["signature"] ?? .null), count: try json.count("count"),
            unsent: try json.count("unsent"))
        guard unsent <= count else {
            throw HealthReport.Problem(message: "\"unsent\" must not exceed \"count\".")
        }
    }

    public var json: JSON {
        ["signature": signature.json, "count": .int(Int64(count)), "unsent": .int(Int64(unsent))]
    }
}

extension CrashSignature {
    /// Reads a signature.
    ///
    /// - Throws: ``HealthReport/Problem`` if a member is missing, of the wrong type or too long.
    @_spi(Internals) public init(json: JSON) throws(HealthReport.Problem) {
        self.init(
            kind: try json.text("kind") ?? "", message: try json.text("message") ?? "",
            frames: try json.list("frames", upTo: HealthReport.Limit.frames) {
                json throws(HealthReport.Problem) in try Frame(json: json)
            })
        if kind.isEmpty { throw HealthReport.Problem(message: "\"kind\" is missing.") }
    }

    @_spi(Internals) public var json: JSON {
        ["kind": .string(kind), "message": .string(message), "frames": .array(frames.map(\.json))]
    }
}

extension CrashSignature.Frame {
    fileprivate init(json: JSON) throws(HealthReport.Problem) {
        guard let offset = json["offset"]?.int, offset >= 0 else {
            throw HealthReport.Problem(message: "\"offset\" must be a number of bytes.")
        }
        let image = try json.name("image")
        guard image.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else {
            throw HealthReport.Problem(message: "\"image\" must be a UUID or build id in lower-case hexadecimal.")
        }
        self.init(
            image: image, offset: offset, function: try json.text("function"), file: try json.text("file"),
            line: json["line"]?.isNull == false ? try json.count("line") : nil)
    }

    fileprivate var json: JSON {
        var json: JSONObject = ["image": .string(image), "offset": .int(offset)]
        json["function"] = function.map(JSON.string)
        json["file"] = file.map(JSON.string)
        json["line"] = line.map { .int(Int64($0)) }
        return .object(json)
    }
}

extension JSON {
    /// A required, nonempty string.
    fileprivate func name(_ member: String) throws(HealthReport.Problem) -> String {
        guard let text = self[member]?.string, (1...HealthReport.Limit.nameBytes).contains(text.utf8.count),
            text.isPrintable
        else {
            throw HealthReport.Problem(
                message: "\"\(member)\" must be a string of 1 to \(HealthReport.Limit.nameBytes) bytes.")
        }
        return text
    }

    fileprivate func text(_ member: String) throws(HealthReport.Problem) -> String? {
        guard let value = self[member], !value.isNull else { return nil }
        guard let text = value.string, text.utf8.count <= HealthReport.Limit.textBytes, text.isPrintable else {
            throw HealthReport.Problem(
                message: "\"\(member)\" must be a string of at most \(HealthReport.Limit.textBytes) bytes.")
        }
        return text
    }

    fileprivate func count(_ member: String) throws(HealthReport.Problem) -> Int {
        guard let count = self[member]?.int, (0...Int64(HealthReport.Limit.count)).contains(count) else {
            throw HealthReport.Problem(
                message: "\"\(member)\" must be a whole number from 0 to \(HealthReport.Limit.count).")
        }
        return Int(count)
    }

    fileprivate func list<Element>(
        _ member: String, upTo limit: Int, _ read: (JSON) throws(HealthReport.Problem) -> Element
    ) throws(HealthReport.Problem) -> [Element] {
        guard let elements = self[member]?.array, elements.count <= limit else {
            throw HealthReport.Problem(message: "\"\(member)\" must be a list of at most \(limit).")
        }
        var list: [Element] = []
        for element in elements { list.append(try read(element)) }
        return list
    }
}

extension String {
    fileprivate var isPrintable: Bool { unicodeScalars.allSatisfy(HealthText.isPrintable) }
}

/// The characters allowed in a report's texts.
package enum HealthText {
    /// Whether a character is safe to print in a terminal or page: it is not a control character and does not change
    /// the text direction.
    package static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: false
        default: true
        }
    }
}
