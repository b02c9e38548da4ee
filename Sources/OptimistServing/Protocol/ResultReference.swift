// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Resolves arguments that refer to the answer of an earlier call of the same request: `"#ids": {"resultOf": …}`.
///
/// Each answer is parsed once, however many references point to it, and all work is counted.
///
/// > Source: RFC 8620 §3.7.
struct ResultReferences {
    /// The most references in one call. No method has more arguments.
    static let maxInCall = 16

    private let meter: WorkMeter?
    private let room: (any AnswerRoom)?
    private var parsed: [Int: JSON] = [:]
    private var bytesLeft = AnswerLimit.referencedBytes

    init(meter: WorkMeter? = nil, room: (any AnswerRoom)? = nil) {
        self.meter = meter
        self.room = room
    }

    /// Replaces every reference by its value.
    ///
    /// - Throws: ``MethodError``, or the error of the meter or the room.
    mutating func resolve(_ arguments: JSONObject, in answers: [MethodAnswer]) throws -> JSONObject {
        let count = arguments.members.count { $0.key.hasPrefix("#") }
        if count == 0 { return arguments }
        guard count <= Self.maxInCall else {
            throw MethodError.invalidArguments("A call may have at most \(Self.maxInCall) references to results.")
        }
        var resolved = JSONObject(arguments.members.filter { !$0.key.hasPrefix("#") })
        for (key, reference) in arguments where key.hasPrefix("#") {
            let name = String(key.dropFirst())
            guard resolved[name] == nil else {
                throw MethodError.invalidArguments("\"\(name)\" is given both as a value and as a reference.")
            }
            resolved.append(name, try value(of: reference, in: answers))
        }
        return resolved
    }

    private mutating func value(of reference: JSON, in answers: [MethodAnswer]) throws -> JSON {
        guard let callID = reference["resultOf"]?.string, let name = reference["name"]?.string,
            let pointer = reference["path"]?.string.flatMap({ ResultPointer($0) }),
            let index = answers.firstIndex(where: { $0.callID == callID }), answers[index].name == name,
            let value = try pointer.value(in: answer(answers[index], at: index), meter)
        else { throw MethodError.invalidResultReference }
        // The call reads the complete value.
        try meter?.step(bytes: value.weight)
        return value
    }

    private mutating func answer(_ answer: MethodAnswer, at index: Int) throws -> JSON {
        if let known = parsed[index] { return known }
        let bytes = answer.arguments.count
        guard bytes <= bytesLeft else {
            throw MethodError.requestTooLarge(
                "References can read at most \(AnswerLimit.referencedBytes) bytes of answers. Split the request.")
        }
        bytesLeft -= bytes
        try room?.takeAnswer(answer.arguments.withUnsafeBytes(ParsedSize.bytes))
        try meter?.step(count: bytes / WorkMeter.parsedBytesPerStep)
        guard let json = try? JSON(parsing: answer.arguments) else { throw MethodError.invalidResultReference }
        parsed[index] = json
        return json
    }
}

/// A JSON pointer that supports `*` for every element of an array.
///
/// > Source: RFC 6901; RFC 8620 §3.7.
struct ResultPointer {
    private let steps: [String]

    /// Returns nil if the text is not a pointer, or is deeper than JSON may be nested.
    init?(_ text: String) {
        guard text.isEmpty || text.hasPrefix("/") else { return nil }
        let parts = text.split(
            separator: "/", maxSplits: RowSync.Limit.jsonDepth + 1, omittingEmptySubsequences: false
        ).dropFirst()
        guard parts.count <= RowSync.Limit.jsonDepth else { return nil }
        steps = parts.map { String($0.replacing("~1", with: "/").replacing("~0", with: "~")) }
    }

    /// - Throws: The meter's error. The meter counts the values along the path.
    func value(in value: JSON, _ meter: WorkMeter?) throws -> JSON? { try follow(steps[...], in: value, meter) }

    private func follow(_ path: ArraySlice<String>, in value: JSON, _ meter: WorkMeter?) throws -> JSON? {
        guard let step = path.first else { return value }
        let rest = path.dropFirst()
        guard let elements = value.array else { return try value[step].flatMap { try follow(rest, in: $0, meter) } }
        guard step == "*" else {
            guard let index = Int(step), elements.indices.contains(index) else { return nil }
            return try follow(rest, in: elements[index], meter)
        }
        var all: [JSON] = []
        for (index, element) in elements.enumerated() {
            if index % Self.elementsPerStep == 0 { try meter?.step() }
            guard let found = try follow(rest, in: element, meter) else { return nil }
            guard let several = found.array else {
                all.append(found)
                continue
            }
            try meter?.step(count: several.count / Self.elementsPerStep)
            all += several
        }
        return .array(all)
    }

    private static let elementsPerStep = 16
}
