// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import OptimistCore
@_spi(Internals) public import OptimistWire

/// Answers JMAP requests: reads a request, carries it out in the store, and writes the response. The caller notifies
/// clients that listen for changes. It can be used from any task.
@_spi(Internals) public final class JMAPService: Sendable {
    private let store: any SyncStore
    private let settings: ServingSettings
    private let now: @Sendable () -> Date
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
        public var changedTypes: Set<String>
        public var state: SyncState
        public var report: SetReport
    }

    /// Answers a request for an account. Returns once its writes are durable.
    ///
    /// - Parameters:
    ///   - account: The account's id. The caller has checked that the client may use it.
    ///   - room: Grants memory for the response. Default: only the fixed limits apply.
    /// - Throws: `RequestProblem` if the request is refused entirely, what `room` throws, or the store's error. If the
    ///   task is cancelled before the work is done, `CancellationError`. In each case the store keeps nothing, except
    ///   writes that it is already committing when the task is cancelled.
    public func answer(
        _ body: some Sequence<UInt8>, account: String, room: (any AnswerRoom)? = nil
    ) async throws -> Outcome {
        let body = ContiguousArray(body)
        let request = try Request(reading: body)
        let done = try await carryOut(request, of: body.count, account: account, room)
        return Outcome(response: write(done), changedTypes: done.changedTypes, state: done.state, report: done.report)
    }

    private struct Done: Sendable {
        var answers: [MethodAnswer]
        var createdIDs: [String: String]?
        var changedTypes: Set<String>
        var state: SyncState
        var report: SetReport
    }

    private func carryOut(
        _ request: Request, of bytes: Int, account: String, _ room: (any AnswerRoom)?
    ) async throws -> Done {
        let caller = WorkCaller()
        do {
            return try await withTaskCancellationHandler {
                try await carryOut(request, of: bytes, account, room, for: caller)
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
        _ request: Request, of bytes: Int, _ account: String, _ room: (any AnswerRoom)?, for caller: WorkCaller
    ) async throws -> Done {
        if request.isPush || request.methodCalls.contains(where: \.isSet) {
            let texts = try await matchTexts(of: request, for: caller)
            return try await store.write(account: account, as: .person(account)) { transaction in
                // The time budget starts once the request has the writer.
                let meter = WorkMeter(self.settings.workBudget, for: caller)
                transaction.meter = meter
                try meter.step(count: bytes / WorkMeter.requestBytesPerStep)
                return try self.run(
                    request, account, room, texts, snapshot: transaction, transaction: transaction)
            }
        }
        return try await store.read(account: account, as: .person(account)) { snapshot in
            // Reads run in parallel, so a long one delays no other account.
            let meter = WorkMeter(.unlimited, for: caller)
            snapshot.meter = meter
            try meter.step(count: bytes / WorkMeter.requestBytesPerStep)
            return try self.run(request, account, room, MatchedTexts(), snapshot: snapshot, transaction: nil)
        }
    }

    /// Matches texts before the request takes the writer, with a separate budget that treats the rows as one unit,
    /// because their groups are not known yet.
    private func matchTexts(of request: Request, for caller: WorkCaller) async throws -> MatchedTexts {
        let meter = WorkMeter(settings.workBudget, for: caller)
        meter.canBeHalved = false
        return try await MatchedTexts(request, schema, meter)
    }

    private func run(
        _ request: Request, _ account: String, _ room: (any AnswerRoom)?, _ texts: MatchedTexts,
        snapshot: any AccountSnapshot, transaction: (any AccountTransaction)?
    ) throws -> Done {
        try snapshot.meter?.look()
        let clock = ServerClock(
            hybrid: hybrid.withLock(\.self), milliseconds: now().millisecondsSince1970, day: Expiry.day(of: believed()))
        var exchange = Exchange(
            request, account: account, settings: settings, snapshot: snapshot, transaction: transaction, clock: clock,
            texts: texts, room: room)
        try exchange.run()
        hybrid.withLock { exchange.clock.hand(to: &$0) }
        return Done(
            answers: exchange.answers, createdIDs: request.createdIDs.map { _ in exchange.createdIDs },
            changedTypes: exchange.changedTypes, state: exchange.state, report: exchange.report)
    }

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
        text += ",\"sessionState\":\"\(sessionState(in: done.state.epoch))\",\"serverTime\":\"\(now().utcText)\"}".utf8
        return text
    }
}

// MARK: - For the session resource and the event source

@_spi(Internals) extension JMAPService {
    public func state(of account: String) async throws -> SyncState {
        try await store.read(account: account, as: .person(account)) { SyncState(epoch: $0.epoch, seq: $0.seq) }
    }

    /// The session resource of an account, with the URLs of Optimist's own server.
    ///
    /// - Parameter origin: The origin of the server as clients see it, such as `https://sync.example.org`. Some clients
    ///   cannot start with a relative URL. Default: empty, for relative URLs.
    public func session(account: String, username: String, origin: String = "") -> SessionResource {
        SessionResource(
            username: username, apiURL: "\(origin)/jmap/",
            eventSourceURL: "\(origin)/jmap/eventsource?types={types}&closeafter={closeafter}&ping={ping}",
            state: sessionState, epoch: epoch, initialState: "\(epoch).0", accounts: [account: schema],
            primaryAccount: account, tombstoneDays: settings.tombstoneDays)
    }
}

extension Date {
    fileprivate var millisecondsSince1970: Int64 { Int64(timeIntervalSince1970 * 1000) }

    fileprivate var utcText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
