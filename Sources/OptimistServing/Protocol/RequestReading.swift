// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

extension Request {
    /// Reads a request, and refuses a request that no method call should see.
    ///
    /// - Throws: ``RequestProblem`` of the kinds in RFC 8620 §3.6.1.
    init(reading body: some Sequence<UInt8>) throws(RequestProblem) {
        let json: JSON
        do {
            json = try JSON(parsing: body, maxDepth: RowSync.Limit.jsonDepth)
        } catch {
            switch error {
            case .tooDeep(let limit): throw .limit("maxDepth", "JSON may be nested \(limit) levels deep, no deeper.")
            case .duplicateMember(let name): throw .notJSON("The member \"\(name.prefix(64))\" is named twice.")
            case .malformed(let offset): throw .notJSON("The body is no JSON from byte \(offset) on.")
            }
        }
        guard let request = Request(json: json) else {
            throw .notRequest("The body is no JMAP request.")
        }
        self = request
        try checkCapabilities()
        try checkLimits()
    }

    private func checkCapabilities() throws(RequestProblem) {
        if let unknown = using.first(where: { $0 != RowSync.core && $0 != RowSync.capability }) {
            throw RequestProblem(
                type: RequestProblem.jmapPrefix + "unknownCapability", status: 400,
                detail: "The server does not know the capability \"\(unknown.prefix(100))\".")
        }
        if using.contains(RowSync.capability) { return }
        // If the server ignored these members, it would do something else than the client asked for. For example, a
        // push would no longer be one transaction.
        let own = [
            ("device", device != nil), ("push", push != nil), ("groups", !groups.isEmpty),
            ("origins", !origins.isEmpty),
            ("schemaVersion", schemaVersion != nil), ("oldestPendingSeconds", oldestPendingSeconds != nil),
        ]
        guard let member = own.first(where: \.1)?.0 else { return }
        throw .notRequest("\"\(member)\" belongs to \(RowSync.capability), which \"using\" does not name.")
    }

    private func checkLimits() throws(RequestProblem) {
        let maxCalls = RowSync.Limit.callsInRequest
        if methodCalls.count > maxCalls {
            throw .limit("maxCallsInRequest", "A request holds at most \(maxCalls) calls, not \(methodCalls.count).")
        }
        // The error is not `limit`, because halves of the request would name as many origins.
        let maxOrigins = RowSync.Limit.originsInRequest
        if origins.count > maxOrigins {
            throw .notRequest("A request names at most \(maxOrigins) origins, not \(origins.count).")
        }
        // All rows of a push become one transaction, so the limit applies to the push as a whole.
        let maxRows = RowSync.Limit.rowsInSet
        let named = methodCalls.reduce(0) { $0 + $1.rowCount }
        let grouped = groups.reduce(0) { $0 + $1.count }
        if push != nil, max(named, grouped) > maxRows {
            throw .limit("maxObjectsInSet", "A push names at most \(maxRows) rows, not \(max(named, grouped)).")
        }
    }
}

extension Request {
    /// Whether the request is a device's push: one transaction with a number, even without calls.
    var isPush: Bool { push != nil && device != nil }
}

extension Invocation {
    var isSet: Bool { name.hasSuffix("/set") }

    /// The number of rows that a /set names, without reading them.
    fileprivate var rowCount: Int {
        guard isSet else { return 0 }
        return ["create", "update", "destroy"].reduce(0) { count, key in
            count + (arguments[key]?.object?.count ?? arguments[key]?.array?.count ?? 0)
        }
    }
}

extension RequestProblem {
    static func notJSON(_ detail: String) -> Self {
        .init(type: jmapPrefix + "notJSON", status: 400, detail: detail)
    }

    static func notRequest(_ detail: String) -> Self {
        .init(type: jmapPrefix + "notRequest", status: 400, detail: detail)
    }

    /// A `limit` problem. By default its status is 413, on which the client halves its request.
    @_spi(Internals) public static func limit(_ name: String, _ detail: String, status: Int = 413) -> Self {
        .init(type: jmapPrefix + "limit", status: status, detail: detail, limit: name)
    }

    static let tooMuchWork = Self.limit(
        "maxWork", "This is too much work for one request, and nothing of it was kept: send fewer rows at a time.")

    static let pushRewound = Self(
        type: jmapPrefix + "pushRewound", status: 409,
        detail: "This device has already sent a later push: its database has gone back. It needs a new device id.")
}
