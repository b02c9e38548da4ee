// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The serialized answer to one method call.
struct MethodAnswer: Sendable {
    var name: String
    var arguments: [UInt8]
    var callID: String

    init(_ name: String, _ arguments: [UInt8], callID: String) {
        self.name = name
        self.arguments = arguments
        self.callID = callID
    }

    init(_ name: String, _ arguments: JSONObject, callID: String) {
        self.init(name, JSON.object(arguments).bytes, callID: callID)
    }

    init(_ error: MethodError, callID: String) {
        self.init("error", error.json, callID: callID)
    }

    func write(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "["))
        JSON.string(name).write(to: &output)
        output.append(UInt8(ascii: ","))
        output += arguments
        output.append(UInt8(ascii: ","))
        JSON.string(callID).write(to: &output)
        output.append(UInt8(ascii: "]"))
    }
}

/// Why a method call was not carried out.
///
/// > Source: RFC 8620 §3.6.2, §5.1 to §5.3; Documentation/Protocol.md adds `schemaTooOld` and `forked`.
struct MethodError: Error {
    var type: String
    var description: String
    var members: JSONObject = [:]

    init(_ type: String, _ description: String, _ members: JSONObject = [:]) {
        self.type = type
        self.description = description
        self.members = members
    }

    static func unknownMethod(_ name: String) -> Self {
        .init("unknownMethod", "The method \"\(name)\" does not exist.")
    }
    static func unknownType(_ type: String, verb: String) -> Self {
        .init(
            "unknownMethod",
            "The schema does not have the type \"\(type)\", so the method \"\(type)/\(verb)\" does not exist.")
    }
    static func invalidArguments(_ why: String) -> Self { .init("invalidArguments", why) }
    static let accountNotFound = Self("accountNotFound", "The account does not exist, or you may not use it.")
    static func accessEnded(_ end: AccessEnd) -> Self {
        .init(
            "accessEnded", "You are no longer a member of this space.",
            ["reason": .string(end.reason.rawValue), "at": .int(end.seq)])
    }
    static let invalidResultReference = Self(
        "invalidResultReference", "The reference does not match an earlier answer.")
    static func requestTooLarge(_ why: String) -> Self { .init("requestTooLarge", why) }

    var json: JSONObject {
        var object: JSONObject = ["type": .string(type), "description": .string(description)]
        for (key, value) in members { object.append(key, value) }
        return object
    }
}

/// The arguments of an answer, written member by member, so that stored rows can be copied in unchanged.
struct AnswerText {
    private(set) var bytes: [UInt8] = []

    init(_ members: JSONObject, size: Int) {
        bytes.reserveCapacity(size + 512)
        members.write(to: &bytes)
        // The object stays open until ``close()``.
        bytes.removeLast()
    }

    mutating func add(_ key: String, list: some Sequence<[UInt8]>) {
        begin(key, "[")
        for (index, text) in list.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += text
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func add(_ key: String, object: some Sequence<(key: String, text: [UInt8])>) {
        begin(key, "{")
        for (index, member) in object.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSON.string(member.key).write(to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes += member.text
        }
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func close() { bytes.append(UInt8(ascii: "}")) }

    private mutating func begin(_ key: String, _ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: ","))
        JSON.string(key).write(to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(UInt8(ascii: bracket))
    }
}
