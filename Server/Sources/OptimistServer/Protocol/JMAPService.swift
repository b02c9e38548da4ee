// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import Synchronization

/// Answers JMAP requests: reads one, carries it out in the store, tells those who listen, and writes the answer.
final class JMAPService: Sendable {
    private let store: any SyncStore
    private let settings: Exchange.Settings
    private let pokes: Pokes
    private let now: @Sendable () -> Date
    /// The server's hybrid clock. Writers take it in turn, under their transaction.
    private let hybrid = Mutex(HybridClock())

    init(store: any SyncStore, settings: Exchange.Settings, pokes: Pokes, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.settings = settings
        self.pokes = pokes
        self.now = now
    }

    var schema: Schema { settings.schema }
    var epoch: String { settings.epoch }
    /// Changes whenever the session resource does.
    var sessionState: String { "\(epoch)-\(schema.version)" }

    /// Answers a request of an account.
    ///
    /// - Throws: ``RequestProblem`` when it is not carried out at all, or the store's error. Then nothing was stored.
    func answer(_ body: some Sequence<UInt8>, account: String) async throws -> [UInt8] {
        let request = try Request(reading: body)
        let outcome = try await carryOut(request, account: account)
        if !outcome.changedTypes.isEmpty {
            pokes.changed(account: account, types: outcome.changedTypes, state: outcome.state)
        }
        return write(outcome.answers)
    }

    private struct Outcome: Sendable {
        var answers: [MethodAnswer]
        var changedTypes: Set<String>
        var state: SyncState
    }

    private func carryOut(_ request: Request, account: String) async throws -> Outcome {
        if request.methodCalls.contains(where: \.isSet) {
            return try await store.write(account: account) { transaction in
                try self.run(request, account, snapshot: transaction, transaction: transaction)
            }
        }
        return try await store.read(account: account) { snapshot in
            try self.run(request, account, snapshot: snapshot, transaction: nil)
        }
    }

    private func run(
        _ request: Request, _ account: String, snapshot: any AccountSnapshot, transaction: (any AccountTransaction)?
    ) throws -> Outcome {
        let clock = ServerClock(hybrid: hybrid.withLock(\.self), milliseconds: now().millisecondsSince1970)
        var exchange = Exchange(
            request, account: account, settings: settings, snapshot: snapshot, transaction: transaction, clock: clock)
        try exchange.run()
        hybrid.withLock { $0.witness(exchange.clock.hybrid.last) }
        return Outcome(answers: exchange.answers, changedTypes: exchange.changedTypes, state: exchange.state)
    }

    private func write(_ answers: [MethodAnswer]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(answers.reduce(256) { $0 + $1.arguments.count + 64 })
        text += "{\"methodResponses\":[".utf8
        for (index, answer) in answers.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            answer.write(to: &text)
        }
        text += "],\"sessionState\":\"\(sessionState)\",\"serverTime\":\"\(now().utcText)\"}".utf8
        return text
    }
}

// MARK: - What the session and the event source need

extension JMAPService {
    /// The present state of an account.
    func state(of account: String) async throws -> SyncState {
        let seq = try await store.read(account: account) { $0.seq }
        return SyncState(epoch: epoch, seq: seq)
    }

    func session(account: String, username: String) -> SessionResource {
        SessionResource(
            username: username, apiURL: "/jmap/",
            eventSourceURL: "/jmap/eventsource?types={types}&closeafter={closeafter}&ping={ping}",
            state: sessionState, epoch: epoch, initialState: "\(epoch).0", accounts: [account: schema],
            primaryAccount: account)
    }
}

extension Date {
    var millisecondsSince1970: Int64 { Int64(timeIntervalSince1970 * 1000) }

    /// RFC 3339 with milliseconds.
    var utcText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
