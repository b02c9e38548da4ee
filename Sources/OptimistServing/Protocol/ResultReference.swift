// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Arguments that point into the answer of an earlier call of the same request: `"#ids": {"resultOf": …}`.
///
/// > Source: RFC 8620 §3.7.
enum ResultReference {
    /// Returns the arguments with every reference replaced by what it points to.
    static func resolve(_ arguments: JSONObject, in answers: [MethodAnswer]) throws(MethodError) -> JSONObject {
        guard arguments.members.contains(where: { $0.key.hasPrefix("#") }) else { return arguments }
        var resolved = JSONObject(arguments.members.filter { !$0.key.hasPrefix("#") })
        for (key, reference) in arguments where key.hasPrefix("#") {
            let name = String(key.dropFirst())
            guard resolved[name] == nil else {
                throw .invalidArguments("\"\(name)\" is given both as a value and as a reference.")
            }
            resolved.append(name, try value(of: reference, in: answers))
        }
        return resolved
    }

    private static func value(of reference: JSON, in answers: [MethodAnswer]) throws(MethodError) -> JSON {
        guard let callID = reference["resultOf"]?.string, let name = reference["name"]?.string,
            let path = reference["path"]?.string, path.isEmpty || path.hasPrefix("/"),
            let answer = answers.first(where: { $0.callID == callID }), answer.name == name,
            let arguments = try? JSON(parsing: answer.arguments),
            let value = evaluate(
                path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(), in: arguments)
        else { throw MethodError("invalidResultReference", "It points to nothing that an earlier call answered.") }
        return value
    }

    /// Follows a JSON pointer (RFC 6901) in which `*` stands for every element of an array.
    private static func evaluate(_ path: ArraySlice<Substring>, in value: JSON) -> JSON? {
        guard let step = path.first else { return value }
        let rest = path.dropFirst()
        if let elements = value.array {
            if step == "*" { return flattened(elements.map { evaluate(rest, in: $0) }) }
            guard let index = Int(step), elements.indices.contains(index) else { return nil }
            return evaluate(rest, in: elements[index])
        }
        let key = step.replacing("~1", with: "/").replacing("~0", with: "~")
        return value[String(key)].flatMap { evaluate(rest, in: $0) }
    }

    private static func flattened(_ values: [JSON?]) -> JSON? {
        var all: [JSON] = []
        for value in values {
            guard let value else { return nil }
            if let elements = value.array { all += elements } else { all.append(value) }
        }
        return .array(all)
    }
}
