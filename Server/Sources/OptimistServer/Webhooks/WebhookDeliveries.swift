// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
import Foundation
import Logging
import Metrics
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistWire
import ServiceLifecycle
import Synchronization

/// Sends the transactions of all accounts to one receiver, as ``DeliverySchedule`` decides.
///
/// A position is saved after the receiver has confirmed the transactions before it. After a crash in between, the
/// server sends them again.
final class WebhookDeliveries: Service, AccountFollower {
    typealias Post = @Sendable (_ message: WebhookMessage) async throws -> Int

    private let webhook: Webhook
    private let rows: any SyncStore
    private let store: any WebhookStore
    private let schema: Schema
    private let exclusively: @Sendable (@Sendable () async -> Void) async -> Void
    private let post: Post
    private let dependencies: Dependencies
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let metrics: WebhookMetrics?

    private struct Inbox {
        var changed: Set<String> = []
        var events: [DeliverySchedule.Event] = []
        var report: WebhookReport
    }
    private let inbox: Mutex<Inbox>
    private let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    static let interval = Duration.seconds(1)
    /// How many intervals pass between two scans of all accounts, which find transactions that a crashed process left.
    private static let intervalsBetweenScans = 3_600
    /// How many intervals pass before the receiver's record is read again, and its report is saved.
    private static let intervalsBetweenReports = 5
    /// How many transactions are read at a time, unless they are large, and sent before the position is saved.
    private static let batch = 32

    init(
        _ webhook: Webhook, rows: any SyncStore, store: any WebhookStore, schema: Schema,
        exclusively: @escaping @Sendable (@Sendable () async -> Void) async -> Void, post: @escaping Post,
        metrics: WebhookMetrics?, dependencies: Dependencies, logger: Logger
    ) {
        self.webhook = webhook
        self.rows = rows
        self.store = store
        self.schema = schema
        self.exclusively = exclusively
        self.post = post
        self.metrics = metrics
        self.dependencies = dependencies
        self.logger = logger
        elapsed = dependencies.clock.stopwatch()
        inbox = Mutex(Inbox(report: WebhookReport(webhook)))
    }

    /// Safe to call from any thread.
    func changed(account: String) {
        inbox.withLock { _ = $0.changed.insert(account) }
        wake.yield()
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.keepTime() }
                var schedule = DeliverySchedule(
                    random: self.dependencies.randomness(for: "webhook.\(self.webhook.name)"))
                var turn: AsyncStream<Void>.Continuation?
                for await _ in self.wakes {
                    for action in self.actions(&schedule) {
                        switch action {
                        case .beginTurn:
                            let (end, endTurn) = AsyncStream<Void>.makeStream()
                            turn = endTurn
                            group.addTask { await self.takeTurn(until: end) }
                        case .endTurn:
                            turn?.finish()
                            turn = nil
                        case .deliver(let account): group.addTask { await self.deliver(account) }
                        case .switchOff: group.addTask { await self.switchOff() }
                        }
                    }
                }
                turn?.finish()
                group.cancelAll()
            }
        }
    }

    private func actions(_ schedule: inout DeliverySchedule) -> [DeliverySchedule.Action] {
        let (changed, events) = inbox.withLock { inbox in
            defer { (inbox.changed, inbox.events) = ([], []) }
            return (inbox.changed, inbox.events)
        }
        let now = elapsed()
        var actions = schedule.handle(.changed(changed), at: now)
        for event in events { actions += schedule.handle(event, at: now) }
        // Not with every event, because it looks at every account.
        guard events.contains(where: { if case .tick = $0 { true } else { false } }) else { return actions }
        let figures = schedule.figures(at: now)
        inbox.withLock { inbox in
            inbox.report.waiting = figures.waiting
            inbox.report.failing = figures.failing
            inbox.report.lagSeconds = Int(figures.lag.components.seconds)
        }
        return actions
    }

    private func happened(_ event: DeliverySchedule.Event) {
        inbox.withLock { $0.events.append(event) }
        wake.yield()
    }

    private func takeTurn(until end: AsyncStream<Void>) async {
        await exclusively {
            // The server that had the turn before may have got the answer 410.
            if let record = try? await self.store.record(of: self.webhook.name) {
                self.happened(.switched(off: record.offSince != nil))
            }
            self.happened(.turnBegan)
            for await _ in end {}
        }
        happened(.turnEnded)
    }

    // MARK: - Calls

    private func deliver(_ account: String) async {
        let outcome: DeliverySchedule.Outcome
        do { outcome = try await send(account) } catch StoreError.noAccount {
            outcome = .done
        } catch is CancellationError {
            return
        } catch {
            logger.warning(
                "The data cannot be read or written for a webhook. The server will try again.",
                metadata: ["webhook": "\(webhook.name)", "error.type": "\(type(of: error))"])
            outcome = .failed(.storage)
        }
        switch outcome {
        case .failed(let failure), .interrupted(let failure):
            if note(failure) {
                logger.warning(
                    "A webhook failed. The server will call it again.",
                    metadata: ["webhook": "\(webhook.name)", "failure": "\(failure)"])
            }
        case .gone: note(.gone)
        case .done, .more: break
        }
        happened(.ended(account, outcome))
    }

    private func send(_ account: String) async throws -> DeliverySchedule.Outcome {
        let position = try await store.position(of: webhook.name, in: account)
        let batch = try await rows.read(account: account, as: .operator) { [webhook, schema] snapshot in
            guard webhook.includes(snapshot.kind) else { return Batch() }
            let epochs = try snapshot.epochs()
            return Batch(
                page: try snapshot.transactions(after: position, by: schema, limit: Self.batch), epochs: epochs)
        }
        var (sent, outcome) = (position, batch.page.hasMore ? DeliverySchedule.Outcome.more : .done)
        for transaction in batch.page.transactions {
            if let rows = webhook.rows(of: transaction) {
                let epoch = batch.epochs?.name(ofSeq: transaction.seq) ?? ""
                let problem = await call(WebhookMessage(transaction, rows: rows, epoch: epoch))
                if let problem { outcome = problem }
                if problem != nil || Task.isCancelled { break }
            }
            sent = transaction.seq
        }
        if sent > position {
            // After a move by another server or an operator, the batch was sent as it was, and the next one begins there.
            guard try await store.move(positionOf: webhook.name, in: account, from: position, to: sent) else {
                return .more
            }
            if case .failed(let failure) = outcome { outcome = .interrupted(failure) }
        }
        try Task.checkCancellation()
        return outcome
    }

    private struct Batch: Sendable {
        var page = TransactionPage()
        var epochs: Epochs?
    }

    /// Returns nil if the receiver confirmed the transaction.
    private func call(_ message: WebhookMessage) async -> DeliverySchedule.Outcome? {
        let begun = elapsed()
        defer { metrics?.called(after: elapsed() - begun) }
        do {
            let status = try await post(message)
            switch status {
            case 200..<300:
                metrics?.taken.increment()
                inbox.withLock { inbox in
                    inbox.report.delivered += 1
                    inbox.report.deliveredAt = dependencies.now().timeIntervalSince1970
                }
                return nil
            case 300..<400: return .failed(.redirected)
            case 410: return .gone
            default: return .failed(.status(status))
            }
        } catch let failure as DeliverySchedule.Failure {
            return .failed(failure)
        } catch {
            return .failed(.unreachable)
        }
    }

    /// Returns whether the receiver did not fail in this way before.
    @discardableResult private func note(_ failure: DeliverySchedule.Failure) -> Bool {
        metrics?.failed.increment()
        return inbox.withLock { inbox in
            defer {
                inbox.report.failure = "\(failure)"
                inbox.report.failedAt = dependencies.now().timeIntervalSince1970
            }
            return inbox.report.failure != "\(failure)" || inbox.report.failing == 0
        }
    }

    private func switchOff() async {
        logger.error(
            "A webhook answered 410 and is switched off. `optimist webhook resume` switches it on.",
            metadata: ["webhook": "\(webhook.name)"])
        let time = dependencies.now().timeIntervalSince1970
        do {
            try await store.change(webhook: webhook.name) { if $0.offSince == nil { $0.offSince = time } }
        } catch {
            // The next answer switches it off.
            happened(.switched(off: false))
        }
    }

    // MARK: - Time

    /// Follows the receiver's record, saves reports, and from time to time scans all accounts.
    private func keepTime() async {
        var known: WebhookRecord?
        var saved: WebhookReport?
        var interval = 0
        while !Task.isCancelled {
            if interval % Self.intervalsBetweenReports == 0 {
                await followRecord(&known)
                await saveReport(&saved)
            }
            if interval % Self.intervalsBetweenScans == 0 { await addAll() }
            happened(.tick)
            interval += 1
            do { try await dependencies.clock.sleep(for: Self.interval) } catch { break }
        }
        await saveReport(&saved)
        wake.finish()
    }

    private func followRecord(_ known: inout WebhookRecord?) async {
        guard let record = try? await store.record(of: webhook.name), record != known else { return }
        happened(.switched(off: record.offSince != nil))
        inbox.withLock { $0.report.follow(record) }
        if let known, record.restarts != known.restarts {
            await addAll()
            happened(.retry)
        }
        known = record
    }

    private func addAll() async {
        var last: String?
        while !Task.isCancelled {
            guard let page = try? await rows.accounts(after: last, limit: 1_000), !page.isEmpty else { return }
            inbox.withLock { $0.changed.formUnion(page) }
            last = page.last
        }
    }

    private func saveReport(_ saved: inout WebhookReport?) async {
        var report = report
        report.savedAt = saved?.savedAt ?? 0
        guard report != saved else { return }
        report.savedAt = dependencies.now().timeIntervalSince1970
        guard (try? await store.keep(report, of: webhook.name)) != nil else { return }
        saved = report
    }

    var name: String { webhook.name }

    var report: WebhookReport { inbox.withLock(\.report) }
}

struct WebhookMetrics: Sendable {
    let taken: Counter
    let failed: Counter
    private let duration: Timer

    init(_ name: String, _ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            Counter(
                label: "optimist.webhook.calls", dimensions: [("webhook", name), ("outcome", outcome)], factory: factory
            )
        }
        taken = counter("taken")
        failed = counter("failed")
        duration = Timer(label: "optimist.webhook.duration", dimensions: [("webhook", name)], factory: factory)
    }

    func called(after time: Duration) { duration.record(duration: time) }
}
