// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Carries out the method calls of one request in one transaction over the accounts that the calls name.
///
/// The calls see all accounts at one moment, and see each other's writes. All /set and /copy calls of a push form one
/// logical transaction, whatever accounts they name. In a request without a push number, each call is separate, as in
/// RFC 8620.
struct Exchange {
    let request: Request
    let reader: Reader
    let settings: ServingSettings
    /// The accounts that the request names and its reader may open, by id.
    var books: [String: Book]
    /// The spaces that the request names and whose members no longer include the reader.
    private let ended: [String: AccessEnd]
    /// The reader's spaces, if the request may enter one.
    let spaces: SpaceCount?
    /// The states that the request asks to compare, from before its transaction.
    let states: OpenAccounts<AccountState>
    var clock: ServerClock
    var createdIDs: [String: String]
    /// The types of /set and /copy calls that could not be read. Groups that name rows of these calls must not be applied.
    var unreadTypes: Set<String> = []
    var report: SetReport
    /// Answers that were prepared together with an earlier answer. The key is the index of the call that is answered.
    var readyAnswers: [Int: MethodAnswer] = [:]
    /// The answers to the /set calls that /copy calls imply. The key is the index of the /copy call.
    var impliedAnswers: [Int: MethodAnswer] = [:]
    private(set) var answers: [MethodAnswer] = []
    let vocabulary: Vocabulary
    let origins: Set<String>
    let texts: MatchedTexts
    private var references: ResultReferences
    let hook: HookCalls?
    let meter: WorkMeter?
    let room: (any AnswerRoom)?
    /// How many more bytes of rows the pages of this request may have. Each page has at least one row if there is any.
    var pageRoom: Int

    init(
        _ request: Request, of reader: Reader, over accounts: OpenAccounts<Book>,
        comparing states: OpenAccounts<AccountState>, settings: ServingSettings, clock: ServerClock,
        texts: MatchedTexts, meter: WorkMeter?, room: (any AnswerRoom)?
    ) {
        self.request = request
        self.reader = reader
        self.settings = settings
        books = accounts.open
        ended = accounts.ended
        spaces = accounts.spaces
        self.states = states
        self.clock = clock
        self.texts = texts
        createdIDs = request.createdIDs ?? [:]
        report = SetReport(isPush: request.isPush, oldestPendingSeconds: request.oldestPendingSeconds)
        vocabulary = Vocabulary(settings.schema, version: request.schemaVersion)
        origins = Set(request.origins.isEmpty ? request.device.map { [$0] } ?? [] : request.origins)
        hook = settings.hook.map { HookCalls($0, device: request.device) }
        self.meter = meter
        self.room = room
        references = ResultReferences(meter: meter, room: room)
        pageRoom = min(AnswerLimit.pageBytes, room?.beginAnswer() ?? .max)
    }

    var schema: Schema { settings.schema }
    var isPush: Bool { request.isPush }

    /// A method call whose type and account are known.
    struct Call {
        var index: Int
        /// The current name.
        var type: String
        var invocation: Invocation
        var book: Book

        var arguments: JSONObject { invocation.arguments }
    }

    /// Carries out every call, in order.
    ///
    /// - Throws: ``RequestProblem`` `pushRewound`, ``WorkStopped``, what the room throws, or the database's error. The
    ///   caller must then discard all writes.
    mutating func run() throws {
        // A person who does not enter a space leaves nothing in it.
        let entering = Set(openedBooks.filter(\.snapshot.access.isEntering).map(\.account))
        try notePush(in: openedBooks.filter { !$0.snapshot.access.isEntering })
        answers.reserveCapacity(request.methodCalls.count)
        var bytesLeft = AnswerLimit.requestBytes
        for (index, call) in request.methodCalls.enumerated() {
            do {
                // Even a few steps may include a slow database statement.
                try meter?.look()
                let answer = try answer(call, at: index)
                for answer in [answer, impliedAnswers.removeValue(forKey: index)].compactMap(\.self) {
                    try meter?.step(bytes: answer.arguments.count)
                    // A write has already been carried out, so its answer is always sent.
                    if answer.arguments.count > bytesLeft, !call.writes {
                        throw MethodError.requestTooLarge(
                            "The answers to this request are too large. Split the request.")
                    }
                    // Twice the size, because the complete response text exists alongside the answers.
                    try room?.takeAnswer(2 * answer.arguments.count)
                    bytesLeft -= answer.arguments.count
                    answers.append(answer)
                }
            } catch let error as MethodError {
                noteUnread(call)
                answers.append(MethodAnswer(error, callID: call.callID))
            }
        }
        try notePush(in: openedBooks.filter { entering.contains($0.account) && !$0.changedTypes.isEmpty })
    }

    private func notePush(in books: [Book]) throws {
        guard let number = request.push, let device = request.device else { return }
        for book in books { try book.notePush(number, device: device, day: clock.day) }
    }

    private mutating func answer(_ call: Invocation, at index: Int) throws -> MethodAnswer {
        guard request.using.contains(RowSync.core) else {
            throw MethodError("unknownMethod", "\"using\" must include \(RowSync.core), which defines the methods.")
        }
        if call.name == "Core/echo" { return MethodAnswer(call.name, call.arguments, callID: call.callID) }
        if call.name == Self.changedMethod { return try changedAccounts(call) }
        let (type, verb) = try method(call.name)
        if let ready = readyAnswers.removeValue(forKey: index) { return ready }
        let arguments = try references.resolve(call.arguments, in: answers)
        let resolved = Call(
            index: index, type: type, invocation: Invocation(call.name, arguments, callID: call.callID),
            book: try book(of: arguments, toWrite: verb == "set" || verb == "copy"))
        switch verb {
        case "get": return try get(resolved)
        case "changes": return try changes(resolved)
        default: return try write(resolved)
        }
    }

    mutating func noteUnread(_ call: Invocation) {
        if call.writes, let type = call.name.split(separator: "/").first {
            unreadTypes.insert(vocabulary.presentType(String(type)))
        }
    }

    /// Splits a method's name into the type's current name and the verb.
    ///
    /// - Throws: ``MethodError`` `unknownMethod` if the schema does not have the type, or `schemaTooOld` if the
    ///   client's app is too old for the type.
    func method(_ name: String) throws(MethodError) -> (type: String, verb: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, ["get", "set", "copy", "changes"].contains(parts[1]) else {
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
        let type = vocabulary.presentType(parts[0])
        if case .service(let service) = reader { try service.check(type) }
        return (type, parts[1])
    }

    /// - Parameter toWrite: Whether the call writes. A person who joins an account may open it only to write.
    func book(
        of arguments: JSONObject, named member: String = "accountId", toWrite: Bool = false
    ) throws(MethodError) -> Book {
        guard let id = arguments[member]?.string else { throw .invalidArguments("\"\(member)\" is missing.") }
        if toWrite, case .service(let service) = reader { try service.checkMayWrite() }
        if let book = books[id], toWrite || book.snapshot.access.mayRead { return book }
        if let end = ended[id] { throw .accessEnded(end) }
        throw .accountNotFound
    }

    /// In the order of the accounts' ids.
    var openedBooks: [Book] { books.sorted { $0.key < $1.key }.map(\.value) }
}
