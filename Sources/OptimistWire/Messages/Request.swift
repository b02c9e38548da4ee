// This source file is part of the Optimist open source project, under the MIT licence.

/// A method call or its answer: `["todo/set", {…}, "c1"]`.
@_spi(Internals) public struct Invocation: Hashable, Sendable {
    /// The method, such as `todo/set`. In a response, the called method or `error`.
    public var name: String
    public var arguments: JSONObject
    /// The client's id for the call, unique in the request and repeated in its answer.
    public var callID: String

    public init(_ name: String, _ arguments: JSONObject, callID: String) {
        self.name = name
        self.arguments = arguments
        self.callID = callID
    }

    /// Reads a call or answer. Returns nil unless the value is an array of a string, an object and a string.
    public init?(json: JSON) {
        guard let parts = json.array, parts.count == 3, let name = parts[0].string, let arguments = parts[1].object,
            let callID = parts[2].string
        else { return nil }
        self.init(name, arguments, callID: callID)
    }

    public var json: JSON { [.string(name), .object(arguments), .string(callID)] }
}

/// A JMAP request with the members added by RS.
@_spi(Internals) public struct Request: Hashable, Sendable {
    /// The capabilities that the client uses. Without ``RowSync/capability`` the server speaks plain JMAP, without
    /// members that begin with "@" and without the members marked RS below.
    public var using: [String]
    /// The calls, which the server executes in order. At most ``RowSync/Limit/callsInRequest``.
    public var methodCalls: [Invocation]
    /// The requesting device's id, 1 to 64 ASCII letters and digits. Required in a push. RS only.
    public var device: String?
    /// All ids this device has ever counted under. The answer reports their counter totals in `@mine`. Empty: only
    /// ``device``. At most ``RowSync/Limit/originsInRequest``. RS only.
    public var origins: [String]
    /// The number of the push, starting at 1 and incremented for each new push of the device. Repeating a number
    /// repeats the push. A request with number zero and no calls asks for the last number that the server knows. Nil:
    /// not a push. RS only.
    public var push: Int64?
    /// The schema version that the client was built with. Nil: the server's current version. RS only.
    public var schemaVersion: Int?
    /// Groups of rows, as `Type:id`, that succeed or fail together. Default: each row on its own. Only in a push. RS
    /// only.
    public var groups: [[String]]
    /// The age of the oldest pending row on the device, in seconds, at least zero. A metric for the server's operator
    /// without other effect. Nil: not reported. Only in a push. RS only.
    public var oldestPendingSeconds: Int64?
    /// The ids assigned to creation ids by earlier requests, for `#creationId` (RFC 8620 §3.3). If nil, the response
    /// omits them.
    public var createdIDs: [String: String]?

    /// Makes a request. By default it uses RS and is not a push.
    public init(
        using: [String] = [RowSync.core, RowSync.capability], methodCalls: [Invocation], device: String? = nil,
        push: Int64? = nil, schemaVersion: Int? = nil, groups: [[String]] = [], origins: [String] = [],
        createdIDs: [String: String]? = nil, oldestPendingSeconds: Int64? = nil
    ) {
        self.using = using
        self.methodCalls = methodCalls
        self.device = device
        self.origins = origins
        self.push = push
        self.schemaVersion = schemaVersion
        self.groups = groups
        self.oldestPendingSeconds = oldestPendingSeconds
        self.createdIDs = createdIDs
    }

    /// Reads a request by RFC 8620 §3.3.
    ///
    /// Returns nil if `using` or `methodCalls` is missing, if a known member has the wrong type, if a device id is
    /// invalid, or if nonempty `groups` come without `device` and `push`. Unknown members are ignored.
    public init?(json: JSON) {
        guard let object = json.object, let using = object["using"]?.array?.map(\.string),
            let calls = object["methodCalls"]?.array?.map({ Invocation(json: $0) }), !using.contains(nil),
            !calls.contains(nil)
        else { return nil }
        self.init(using: using.compactMap(\.self), methodCalls: calls.compactMap(\.self))
        if let device = object["device"] {
            guard let text = device.string, WriteClock.isDeviceID(text) else { return nil }
            self.device = text
        }
        if let origins = object["origins"] {
            guard let ids = origins.array?.map(\.string), ids.allSatisfy({ $0.map(WriteClock.isDeviceID) == true })
            else {
                return nil
            }
            self.origins = ids.compactMap(\.self)
        }
        if let push = object["push"] {
            // Before its first push, a device may ask whether another device pushed under its id.
            guard let number = push.int, number > 0 || number == 0 && calls.isEmpty else { return nil }
            self.push = number
        }
        if let seconds = object["oldestPendingSeconds"] {
            guard let seconds = seconds.int, seconds >= 0 else { return nil }
            oldestPendingSeconds = seconds
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
        if let oldestPendingSeconds { object.append("oldestPendingSeconds", .int(oldestPendingSeconds)) }
        object.append("methodCalls", .array(methodCalls.map(\.json)))
        if let createdIDs { object.append("createdIds", .ids(createdIDs)) }
        return .object(object)
    }
}

extension JSON {
    fileprivate static func ids(_ ids: [String: String]) -> JSON {
        .object(JSONObject(ids.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }
}

extension JSON? {
    /// The map of creation ids to ids, or nil if it is missing. The outer optional is nil if the value is malformed.
    fileprivate var ids: [String: String]?? {
        guard let object = optional(\.object) else { return nil }
        guard let members = object?.members else { return .some(nil) }
        let ids = members.compactMap { member in member.value.string.map { (member.key, $0) } }
        guard ids.count == members.count else { return nil }
        return .some(Dictionary(ids, uniquingKeysWith: { $1 }))
    }
}

/// A JMAP response. RS adds the server's time.
@_spi(Internals) public struct Response: Hashable, Sendable {
    /// The answers, in the order of the calls. An answer named `error` has the error's `type` in its arguments.
    public var methodResponses: [Invocation]
    /// The server's current ``SessionResource/state``. If it differs from the client's, the client fetches the session
    /// again.
    public var sessionState: String
    /// The server's UTC time, such as `2026-11-21T10:00:00.123Z`. Nil if the server omits it. RS only.
    public var serverTime: String?
    /// The ids by creation id, if the request had `createdIds`: the request's entries and those of the rows it created.
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

    /// Reads a response. Returns nil if `methodResponses` or `sessionState` is missing, or if an answer cannot be read.
    /// An unreadable `serverTime` or `createdIds` counts as missing.
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
