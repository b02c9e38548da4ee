// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// One request on its way through its method calls, all within one transaction of one account.
///
/// The calls see one snapshot and each other's writes. The /set calls of a push are one logical transaction; those of
/// a request without a push number are one each, as RFC 8620 has them.
struct Exchange {
    let request: Request
    let account: String
    let settings: ServingSettings
    let snapshot: any AccountSnapshot
    /// Nil when no call can write.
    let transaction: (any AccountTransaction)?
    var clock: ServerClock
    /// The ids of rows by creation id.
    var createdIDs: [String: String]
    /// The types of /set calls that could not be read: groups that share rows with them must not be applied.
    var unreadTypes: Set<String> = []
    /// The types in which rows changed.
    var changedTypes: Set<String> = []
    /// Answers that were worked out together with an earlier call's, by the call's index.
    var readyAnswers: [Int: MethodAnswer] = [:]
    private(set) var answers: [MethodAnswer] = []
    /// The names that the client knows.
    let vocabulary: Vocabulary
    /// The origins whose totals of counters the client hears.
    let origins: Set<String>
    /// The state before anything was done.
    let opening: SyncState
    /// Where the memory for the answers comes from. Nil: there is no bound but that of one answer.
    let room: (any AnswerRoom)?
    /// How many bytes of rows the pages of this request may still have. A page has one row at least.
    var pageRoom: Int

    init(
        _ request: Request, account: String, settings: ServingSettings, snapshot: any AccountSnapshot,
        transaction: (any AccountTransaction)?, clock: ServerClock, room: (any AnswerRoom)? = nil
    ) {
        self.request = request
        self.account = account
        self.settings = settings
        self.snapshot = snapshot
        self.transaction = transaction
        self.clock = clock
        createdIDs = request.createdIDs ?? [:]
        vocabulary = Vocabulary(settings.schema, version: request.schemaVersion)
        origins = Set(request.origins.isEmpty ? request.device.map { [$0] } ?? [] : request.origins)
        opening = SyncState(epoch: settings.epoch, seq: snapshot.seq)
        self.room = room
        pageRoom = min(AnswerLimit.pageBytes, room?.beginAnswer() ?? .max)
    }

    var schema: Schema { settings.schema }
    var isPush: Bool { request.isPush }
    var state: SyncState { SyncState(epoch: settings.epoch, seq: snapshot.seq) }

    /// Carries out every call, in order.
    ///
    /// - Throws: ``RequestProblem`` `pushRewound`, ``WorkStopped``, what the room throws, or the database's error. Then
    ///   nothing must be kept.
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
                let answer = try answer(call, at: index)
                try snapshot.meter?.step(bytes: answer.arguments.count)
                // A /set has been carried out: its answer always goes out.
                if answer.arguments.count > bytesLeft, !call.isSet {
                    throw MethodError.requestTooLarge("The answers to this request are too large: ask in smaller ones.")
                }
                // Twice: the text of the whole response is made beside the answers.
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
            throw MethodError("unknownMethod", "\"using\" does not name \(RowSync.core), which has the methods.")
        }
        if call.name == "Core/echo" { return MethodAnswer(call.name, call.arguments, callID: call.callID) }
        let (type, verb) = try method(call.name)
        if let ready = readyAnswers.removeValue(forKey: index) { return ready }
        let arguments = try ResultReference.resolve(call.arguments, in: answers)
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

    /// Splits a method's name, and refuses the ones that the schema has no type for.
    ///
    /// - Returns: The type's present name.
    /// - Throws: ``MethodError`` `unknownMethod`, or `schemaTooOld` for a type that the client's app is too old for.
    func method(_ name: String) throws(MethodError) -> (type: String, verb: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, ["get", "set", "changes"].contains(parts[1]),
            let definition = schema.types[vocabulary.presentType(parts[0])]
        else { throw .unknownMethod(String(name.prefix(100))) }
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
