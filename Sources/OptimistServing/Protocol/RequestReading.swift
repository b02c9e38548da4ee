// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

extension Request {
    /// Reads a request, and refuses it if it is malformed or exceeds a limit.
    ///
    /// - Throws: ``RequestProblem`` of the kinds in RFC 8620 §3.6.1.
    init(reading body: some Sequence<UInt8>) throws(RequestProblem) {
        let json: JSON
        do {
            json = try JSON(parsing: body, maxDepth: RowSync.Limit.jsonDepth)
        } catch {
            switch error {
            case .tooDeep(let limit): throw .limit("maxDepth", "JSON may be nested at most \(limit) levels deep.")
            case .duplicateMember(let name): throw .notJSON("The member \"\(name.prefix(64))\" appears twice.")
            case .malformed(let offset): throw .notJSON("The body is not valid JSON at byte \(offset).")
            }
        }
        guard let request = Request(json: json) else {
            throw .notRequest("The body is not a JMAP request.")
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
        // Ignoring these members would change the meaning of the request. For example, a push would no longer be one
        // transaction.
        let own = [
            ("device", device != nil), ("push", push != nil), ("groups", !groups.isEmpty),
            ("origins", !origins.isEmpty),
            ("schemaVersion", schemaVersion != nil), ("oldestPendingSeconds", oldestPendingSeconds != nil),
        ]
        guard let member = own.first(where: \.1)?.0 else { return }
        throw .notRequest("\"\(member)\" belongs to \(RowSync.capability), which \"using\" does not include.")
    }

    private func checkLimits() throws(RequestProblem) {
        let maxCalls = RowSync.Limit.callsInRequest
        if methodCalls.count > maxCalls {
            throw .limit(
                "maxCallsInRequest", "A request may contain at most \(maxCalls) calls, not \(methodCalls.count).")
        }
        // The error is not `limit`, because each half of the request would name as many origins.
        let maxOrigins = RowSync.Limit.originsInRequest
        if origins.count > maxOrigins {
            throw .notRequest("A request may contain at most \(maxOrigins) origins, not \(origins.count).")
        }
        // All rows of a push are one transaction, so the limit applies to the complete push.
        let maxRows = RowSync.Limit.rowsInSet
        let named = methodCalls.reduce(0) { $0 + $1.rowCount }
        let grouped = groups.reduce(0) { $0 + $1.count }
        if push != nil, max(named, grouped) > maxRows {
            throw .limit("maxObjectsInSet", "A push may contain at most \(maxRows) rows, not \(max(named, grouped)).")
        }
    }
}

extension Request {
    /// Whether the request is a device's push: one numbered transaction, even without calls.
    var isPush: Bool { push != nil && device != nil }

    var writes: Bool { isPush || methodCalls.contains(where: \.writes) }

    /// The accounts that the calls name. A call without an account counts for the reader's own account.
    ///
    /// - Throws: ``RequestProblem`` `limit` if the request would lock too many accounts.
    func accounts(of reader: Reader) throws(RequestProblem) -> Set<String> {
        let named = methodCalls.map { $0.arguments["accountId"]?.string }
        let sources = methodCalls.compactMap { $0.isCopy ? $0.arguments["fromAccountId"]?.string : nil }
        let all = (named.isEmpty ? [nil] : named).compactMap { $0 ?? reader.person } + sources
        // No account's id contains a zero character, and some stores would end the text at this character.
        let accounts = Set(all.filter { !$0.utf8.contains(0) })
        let most = RowSync.Limit.accountsInSet
        if writes, accounts.count > most {
            throw .limit(
                "maxAccountsInSet", "A request that writes may name at most \(most) accounts, not \(accounts.count).")
        }
        return accounts
    }
}

extension Invocation {
    var isSet: Bool { name.hasSuffix("/set") }
    var isCopy: Bool { name.hasSuffix("/copy") }
    var writes: Bool { isSet || isCopy }

    fileprivate var rowCount: Int {
        guard writes else { return 0 }
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

    /// A `limit` problem. With the default status 413, the client halves its request.
    @_spi(Internals) public static func limit(_ name: String, _ detail: String, status: Int = 413) -> Self {
        .init(type: jmapPrefix + "limit", status: status, detail: detail, limit: name)
    }

    static let tooMuchWork = Self.limit(
        "maxWork", "The request took too much work. Nothing was stored. Send fewer rows at a time.")

    static let pushRewound = Self(
        type: jmapPrefix + "pushRewound", status: 409,
        detail: "This device has already sent a later push, so its database was restored. It needs a new device id.")
}
