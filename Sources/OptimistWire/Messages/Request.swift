// This source file is part of the Optimist open source project, under the MIT licence.

/// A method call or its answer: `["Todo/set", {…}, "c1"]`.
public struct Invocation: Hashable, Sendable {
    public var name: String
    public var arguments: JSONObject
    public var callID: String

    public init(_ name: String, _ arguments: JSONObject, callID: String) {
        self.name = name
        self.arguments = arguments
        self.callID = callID
    }

    public init?(json: JSON) {
        guard let parts = json.array, parts.count == 3, let name = parts[0].string, let arguments = parts[1].object,
            let callID = parts[2].string
        else { return nil }
        self.init(name, arguments, callID: callID)
    }

    public var json: JSON { [.string(name), .object(arguments), .string(callID)] }
}

/// A JMAP request with the members that RS adds.
public struct Request: Hashable, Sendable {
    public var using: [String]
    public var methodCalls: [Invocation]
    /// The device that asks. RS only.
    public var device: String?
    /// The ids that the device has counted under: for them it is told its own totals of counters. Empty: `device` alone. RS
    /// only.
    public var origins: [String]
    /// The number of the push, one more for each new request of the device. RS only.
    public var push: Int64?
    /// The version of the schema that the client was built with. RS only.
    public var schemaVersion: Int?
    /// Rows as `Type:id` that succeed or fail together. Only in a push. RS only.
    public var groups: [[String]]
    /// The ids that earlier requests gave to creation ids, for `#creationId`. Nil: the answer tells none.
    public var createdIDs: [String: String]?

    public init(
        using: [String] = [RowSync.core, RowSync.capability], methodCalls: [Invocation], device: String? = nil,
        push: Int64? = nil, schemaVersion: Int? = nil, groups: [[String]] = [], origins: [String] = [],
        createdIDs: [String: String]? = nil
    ) {
        self.using = using
        self.methodCalls = methodCalls
        self.device = device
        self.origins = origins
        self.push = push
        self.schemaVersion = schemaVersion
        self.groups = groups
        self.createdIDs = createdIDs
    }

    /// Reads a request. Nil if it is not one, by RFC 8620 §3.3.
    public init?(json: JSON) {
        guard let object = json.object, let using = object["using"]?.array?.map(\.string),
            let calls = object["methodCalls"]?.array?.map({ Invocation(json: $0) }), !using.contains(nil),
            !calls.contains(nil)
        else { return nil }
        self.init(using: using.compactMap(\.self), methodCalls: calls.compactMap(\.self))
        if let device = object["device"] {
            guard let text = device.string, Clock.isDeviceID(text) else { return nil }
            self.device = text
        }
        if let origins = object["origins"] {
            guard let ids = origins.array?.map(\.string), ids.allSatisfy({ $0.map(Clock.isDeviceID) == true }) else {
                return nil
            }
            self.origins = ids.compactMap(\.self)
        }
        if let push = object["push"] {
            // A device that has sent nothing yet may ask whether another has, in its name.
            guard let number = push.int, number > 0 || number == 0 && calls.isEmpty else { return nil }
            self.push = number
        }
        if let groups = object["groups"] {
            guard let lists = groups.array?.map({ $0.array?.map(\.string) }),
                lists.isEmpty || (device != nil && push != nil),
                lists.allSatisfy({ $0?.allSatisfy { $0?.contains(":") == true } == true })
            else { return nil }
            self.groups = lists.map { ($0 ?? []).compactMap(\.self) }
        }
        guard let version = object["schemaVersion"].optional(\.int), let createdIDs = object["createdIds"].ids else {
            return nil
        }
        schemaVersion = version.map(Int.init)
        self.createdIDs = createdIDs
    }

    public var json: JSON {
        var object: JSONObject = ["using": .array(using.map(JSON.string))]
        if let device { object.append("device", .string(device)) }
        if !origins.isEmpty { object.append("origins", .array(origins.map(JSON.string))) }
        if let push { object.append("push", .int(push)) }
        if let schemaVersion { object.append("schemaVersion", .int(Int64(schemaVersion))) }
        if !groups.isEmpty { object.append("groups", .array(groups.map { .array($0.map(JSON.string)) })) }
        object.append("methodCalls", .array(methodCalls.map(\.json)))
        if let createdIDs { object.append("createdIds", .ids(createdIDs)) }
        return .object(object)
    }
}

extension JSON {
    /// A map of creation ids to ids.
    fileprivate static func ids(_ ids: [String: String]) -> JSON {
        .object(JSONObject(ids.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }
}

extension JSON? {
    /// A map of creation ids to ids, nil where there is none. Nil altogether if it is something else.
    fileprivate var ids: [String: String]?? {
        guard let object = optional(\.object) else { return nil }
        guard let members = object?.members else { return .some(nil) }
        let ids = members.compactMap { member in member.value.string.map { (member.key, $0) } }
        guard ids.count == members.count else { return nil }
        return .some(Dictionary(ids, uniquingKeysWith: { $1 }))
    }
}

/// A JMAP response. RS adds the server's time.
public struct Response: Hashable, Sendable {
    public var methodResponses: [Invocation]
    public var sessionState: String
    /// The server's time of day as a UTC date.
    public var serverTime: String?
    /// The ids of creation ids, if the request named some: those, and the ones of the rows that it created.
    public var createdIDs: [String: String]?

    public init(
        methodResponses: [Invocation], sessionState: String, serverTime: String? = nil,
        createdIDs: [String: String]? = nil
    ) {
        self.methodResponses = methodResponses
        self.sessionState = sessionState
        self.serverTime = serverTime
        self.createdIDs = createdIDs
    }

    public init?(json: JSON) {
        guard let responses = json["methodResponses"]?.array?.map({ Invocation(json: $0) }), !responses.contains(nil),
            let sessionState = json["sessionState"]?.string
        else { return nil }
        self.init(
            methodResponses: responses.compactMap(\.self), sessionState: sessionState,
            serverTime: json["serverTime"]?.string, createdIDs: json["createdIds"].ids ?? nil)
    }

    public var json: JSON {
        var object: JSONObject = [
            "methodResponses": .array(methodResponses.map(\.json)), "sessionState": .string(sessionState),
        ]
        if let createdIDs { object.append("createdIds", .ids(createdIDs)) }
        if let serverTime { object.append("serverTime", .string(serverTime)) }
        return .object(object)
    }
}
