// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Carries out the method calls of one request in one transaction of one account.
///
/// The calls see one snapshot and each other's writes. All /set calls of a push form one logical transaction. In a
/// request without a push number, each /set call is separate, as in RFC 8620.
struct Exchange {
    let request: Request
    let account: String
    let settings: ServingSettings
    let snapshot: any AccountSnapshot
    let transaction: (any AccountTransaction)?
    var clock: ServerClock
    var createdIDs: [String: String]
    /// The types of /set calls that could not be read. Groups that name rows of these calls must not be applied.
    var unreadTypes: Set<String> = []
    var changedTypes: Set<String> = []
    var report: SetReport
    /// Answers prepared together with an earlier call's answer, by the call's index.
    var readyAnswers: [Int: MethodAnswer] = [:]
    private(set) var answers: [MethodAnswer] = []
    let vocabulary: Vocabulary
    let origins: Set<String>
    let texts: MatchedTexts
    private var references: ResultReferences
    let opening: SyncState
    let hook: HookCalls?
    let room: (any AnswerRoom)?
    /// How many more bytes of rows the pages of this request may have. Each page has at least one row if there is any.
    var pageRoom: Int

    init(
        _ request: Request, account: String, settings: ServingSettings, snapshot: any AccountSnapshot,
        transaction: (any AccountTransaction)?, clock: ServerClock, texts: MatchedTexts = MatchedTexts(),
        room: (any AnswerRoom)? = nil
    ) {
        self.request = request
        self.account = account
        self.settings = settings
        self.snapshot = snapshot
        self.transaction = transaction
        self.clock = clock
        self.texts = texts
        createdIDs = request.createdIDs ?? [:]
        report = SetReport(isPush: request.isPush, oldestPendingSeconds: request.oldestPendingSeconds)
        vocabulary = Vocabulary(settings.schema, version: request.schemaVersion)
        origins = Set(request.origins.isEmpty ? request.device.map { [$0] } ?? [] : request.origins)
        opening = SyncState(epoch: snapshot.epoch, seq: snapshot.seq)
        hook = settings.hook.map { HookCalls($0, account: account, device: request.device) }
        self.room = room
        references = ResultReferences(meter: snapshot.meter, room: room)
        pageRoom = min(AnswerLimit.pageBytes, room?.beginAnswer() ?? .max)
    }

    var schema: Schema { settings.schema }
    var isPush: Bool { request.isPush }
    var state: SyncState { SyncState(epoch: snapshot.epoch, seq: snapshot.seq) }

    /// Carries out every call, in order.
    ///
    /// - Throws: ``RequestProblem`` `pushRewound`, ``WorkStopped``, what the room throws, or the database's error. The
    ///   caller must then discard all writes.
    mutating func run() throws {
        if let number = request.push, let device = request.device, let transaction {
            guard try transaction.notePush(number, device: device, day: clock.day) else {
                throw RequestProblem.pushRewound
            }
        }
        answers.reserveCapacity(request.methodCalls.count)
        var bytesLeft = AnswerLimit.requestBytes
        for (index, call) in request.methodCalls.enumerated() {
            do {
                // Even a few steps may include a slow database statement.
                try snapshot.meter?.look()
                let answer = try answer(call, at: index)
                try snapshot.meter?.step(bytes: answer.arguments.count)
                // A /set has already been carried out, so its answer is always sent.
                if answer.arguments.count > bytesLeft, !call.isSet {
                    throw MethodError.requestTooLarge("The answers to this request are too large. Split the request.")
                }
                // Twice the size, because the complete response text exists alongside the answers.
                try room?.takeAnswer(2 * answer.arguments.count)
                bytesLeft -= answer.arguments.count
                answers.append(answer)
            } catch let error as MethodError {
                noteUnread(call)
                answers.append(MethodAnswer(error, callID: call.callID))
            }
        }
    }

    private mutating func answer(_ call: Invocation, at index: Int) throws -> MethodAnswer {
        guard request.using.contains(RowSync.core) else {
            throw MethodError("unknownMethod", "\"using\" must include \(RowSync.core), which defines the methods.")
        }
        if call.name == "Core/echo" { return MethodAnswer(call.name, call.arguments, callID: call.callID) }
        let (type, verb) = try method(call.name)
        if let ready = readyAnswers.removeValue(forKey: index) { return ready }
        let arguments = try references.resolve(call.arguments, in: answers)
        try checkAccount(arguments)
        let resolved = Invocation(call.name, arguments, callID: call.callID)
        switch verb {
        case "get": return try get(type, resolved)
        case "changes": return try changes(type, resolved, at: index)
        default: return try set(resolved, at: index)
        }
    }

    mutating func noteUnread(_ call: Invocation) {
        if call.isSet, let type = call.name.split(separator: "/").first {
            unreadTypes.insert(vocabulary.presentType(String(type)))
        }
    }

    /// Splits a method's name into the type's current name and the verb.
    ///
    /// - Throws: ``MethodError`` `unknownMethod` if the schema does not have the type, or `schemaTooOld` if the
    ///   client's app is too old for the type.
    func method(_ name: String) throws(MethodError) -> (type: String, verb: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, ["get", "set", "changes"].contains(parts[1]) else {
            throw .unknownMethod(String(name.prefix(100)))
        }
        guard let definition = schema.types[vocabulary.presentType(parts[0])] else {
            throw .unknownType(String(parts[0].prefix(100)), verb: parts[1])
        }
        let oldest = max(schema.minClientVersion, definition.minClientVersion ?? 1)
        if let version = request.schemaVersion, version < oldest {
            throw MethodError(
                "schemaTooOld", "This version of the app is too old to sync \(parts[0]).",
                ["minClientVersion": .int(Int64(oldest))])
        }
        return (vocabulary.presentType(parts[0]), parts[1])
    }

    func checkAccount(_ arguments: JSONObject) throws(MethodError) {
        guard let id = arguments["accountId"]?.string else { throw .invalidArguments("\"accountId\" is missing.") }
        guard id == account else { throw .accountNotFound }
    }
}
