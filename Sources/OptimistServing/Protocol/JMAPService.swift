// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
@_spi(Internals) public import OptimistWire

/// Answers JMAP requests: reads a request, carries it out in the store, and writes the response. The caller notifies
/// clients that listen for changes. The service can be used from any task.
@_spi(Internals) public final class JMAPService: Sendable {
    let store: any SyncStore
    let settings: ServingSettings
    let now: @Sendable () -> Date
    private let believed: @Sendable () -> Date
    /// The server's hybrid clock. Writers use it one after another, within their transactions.
    private let hybrid = Mutex(HybridClock())

    /// - Parameters:
    ///   - now: Returns the time of day, which stamps the writes of clients without clocks. Called on any thread.
    ///   - believed: Returns the time that the expiry of deletions counts from, without sudden jumps of the clock.
    ///     Called on any thread. Default: `now`.
    public init(
        store: any SyncStore, settings: ServingSettings, now: @escaping @Sendable () -> Date,
        believed: (@Sendable () -> Date)? = nil
    ) {
        self.store = store
        self.settings = settings
        self.now = now
        self.believed = believed ?? now
    }

    public var schema: Schema { settings.schema }
    public var epoch: String { store.epoch }
    /// A text that changes whenever the session resource changes.
    public var sessionState: String { sessionState(in: epoch) }

    private func sessionState(in epoch: String) -> String { "\(epoch)-\(schema.version)" }

    public struct Outcome: Sendable {
        public var response: [UInt8]
        /// The accounts that the request changed, in the order of their ids.
        public var changes: [AccountChange]
        /// The events that the request added to the audits of spaces, in the order of their accounts' ids.
        public var events: [(account: String, event: SpaceEvent)]
        public var report: SetReport
    }

    public struct AccountChange: Sendable {
        public var account: String
        public var types: Set<String>
        public var state: SyncState
    }

    /// Answers a request. Returns once its writes are durable in all its accounts.
    ///
    /// - Parameters:
    ///   - reader: The sender. The caller has checked the sender's token.
    ///   - room: Grants memory for the response. Default: only the fixed limits apply.
    /// - Throws: `RequestProblem` if the request is refused entirely, what `room` throws, the store's error,
    ///   `StoreError.noAccount` if the reader's own account no longer exists, or `CancellationError` if the task is
    ///   cancelled before the work is done. In each case the store keeps nothing, except writes that it is already
    ///   committing when the task is cancelled.
    public func answer(
        _ body: some Sequence<UInt8>, as reader: Reader, room: (any AnswerRoom)? = nil
    ) async throws -> Outcome {
        let body = ContiguousArray(body)
        let request = try Request(reading: body)
        let done = try await carryOut(request, of: body.count, as: reader, room)
        return Outcome(response: write(done), changes: done.changes, events: done.events, report: done.report)
    }

    private struct Done: Sendable {
        var answers: [MethodAnswer]
        var createdIDs: [String: String]?
        var changes: [AccountChange]
        var events: [(account: String, event: SpaceEvent)]
        /// Nil: the request could open no account.
        var epoch: String?
        var report: SetReport
    }

    private func carryOut(
        _ request: Request, of bytes: Int, as reader: Reader, _ room: (any AnswerRoom)?
    ) async throws -> Done {
        let caller = WorkCaller()
        do {
            return try await withTaskCancellationHandler {
                try await carryOut(request, of: bytes, as: reader, room, for: caller)
            } onCancel: {
                caller.leave()
            }
        } catch let stopped as WorkStopped {
            switch stopped {
            case .overBudget: throw RequestProblem.tooMuchWork
            case .cancelled: throw CancellationError()
            }
        }
    }

    private func carryOut(
        _ request: Request, of bytes: Int, as reader: Reader, _ room: (any AnswerRoom)?, for caller: WorkCaller
    ) async throws -> Done {
        if case .service = reader { try request.checkIsOfService() }
        let accounts = try request.accounts(of: reader)
        let asked = request.accountsToCompare
        let states = asked.isEmpty ? OpenAccounts() : try await store.states(of: asked, as: reader)
        // A token may outlive its person's account.
        let own = reader.person.flatMap { accounts.contains($0) ? $0 : nil }
        if request.writes {
            let texts = try await matchTexts(of: request, for: caller)
            // A program founds no space and joins none.
            let isService = if case .service = reader { true } else { false }
            let entrances = isService ? .none : request.entrances(by: settings, at: now())
            let epoch = store.epoch
            return try await store.write(accounts: accounts, as: reader, entering: entrances) { opened in
                if let own, opened.open[own] == nil { throw StoreError.noAccount }
                // The time budget starts when the request has the writer.
                let meter = WorkMeter(self.settings.workBudget, for: caller)
                var books = opened.mapped { account in
                    account.meter = meter
                    return Book(writing: account)
                }
                for account in entrances.tickets.keys where books.open[account] == nil {
                    books.open[account] = self.closedSpace(account, to: reader, epoch)
                }
                try meter.step(count: bytes / WorkMeter.requestBytesPerStep)
                return try self.run(request, of: reader, over: books, comparing: states, room, texts, meter)
            }
        }
        return try await store.read(accounts: accounts, as: reader) { opened in
            if let own, opened.open[own] == nil { throw StoreError.noAccount }
            // Reads run in parallel, so a long one delays no other person.
            let meter = WorkMeter(.unlimited, for: caller)
            let books = opened.mapped { account in
                account.meter = meter
                return Book(account)
            }
            try meter.step(count: bytes / WorkMeter.requestBytesPerStep)
            return try self.run(request, of: reader, over: books, comparing: states, room, MatchedTexts(), meter)
        }
    }

    /// An empty account in memory, for a space to which the reader does not have a valid ticket. The answers are the same
    /// whether or not the space exists.
    private func closedSpace(_ account: String, to reader: Reader, _ epoch: String) -> Book {
        Book(
            writing: InMemoryTransaction(
                InMemoryAccount(), of: account, as: reader, .uninvited, epochs: [epoch]))
    }

    /// Matches texts before the request takes the writer, with a separate budget that treats the rows as one unit,
    /// because their groups are not known yet.
    private func matchTexts(of request: Request, for caller: WorkCaller) async throws -> MatchedTexts {
        let meter = WorkMeter(settings.workBudget, for: caller)
        meter.canBeHalved = false
        return try await MatchedTexts(request, schema, meter)
    }

    private func run(
        _ request: Request, of reader: Reader, over books: OpenAccounts<Book>,
        comparing states: OpenAccounts<AccountState>, _ room: (any AnswerRoom)?, _ texts: MatchedTexts,
        _ meter: WorkMeter
    ) throws -> Done {
        try meter.look()
        var exchange = Exchange(
            request, of: reader, over: books, comparing: states, settings: settings, clock: clock(of: reader.device),
            texts: texts, meter: meter, room: room)
        try exchange.run()
        keep(exchange.clock)
        let books = exchange.openedBooks
        return Done(
            answers: exchange.answers, createdIDs: request.createdIDs.map { _ in exchange.createdIDs },
            changes: books.filter { !$0.changedTypes.isEmpty }.map {
                AccountChange(account: $0.account, types: $0.changedTypes, state: $0.state)
            }, events: books.flatMap { book in book.events.map { (book.account, $0) } },
            epoch: books.first?.state.epoch, report: exchange.report)
    }

    /// The clock for a transaction. Afterwards, ``keep(_:)`` its stamps.
    ///
    /// - Parameter writer: The device in the clocks of writes without clocks. Default: the server.
    func clock(of writer: String = ServerClock.device) -> ServerClock {
        ServerClock(
            hybrid: hybrid.withLock(\.self), milliseconds: now().millisecondsSince1970, day: Expiry.day(of: believed()),
            writer: writer)
    }

    func keep(_ clock: ServerClock) { hybrid.withLock { clock.hand(to: &$0) } }

    private func write(_ done: Done) -> [UInt8] {
        let answers = done.answers
        var text: [UInt8] = []
        text.reserveCapacity(answers.reduce(256) { $0 + $1.arguments.count + 64 })
        text += "{\"methodResponses\":[".utf8
        for (index, answer) in answers.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            answer.write(to: &text)
        }
        text.append(UInt8(ascii: "]"))
        if let ids = done.createdIDs {
            text += ",\"createdIds\":".utf8
            JSONObject(ids.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }).write(to: &text)
        }
        text +=
            ",\"sessionState\":\"\(sessionState(in: done.epoch ?? epoch))\",\"serverTime\":\"\(now().utcText)\"}".utf8
        return text
    }
}

extension Date {
    var millisecondsSince1970: Int64 { Int64(timeIntervalSince1970 * 1000) }

    fileprivate var utcText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
