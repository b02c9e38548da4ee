// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Logging
import OptimistServer
import Synchronization

/// Sends announcements as PostgreSQL's notifications.
///
/// The channel gathers announcements for a few milliseconds, and sends them in a separate transaction after the
/// commits. A notification in every transaction would make all commits wait for each other.
///
/// > Source: PostgreSQL, "NOTIFY"; a commit with a notification takes a database-wide lock.
final class PostgresChannel: ProcessChannel {
    private struct Outbox {
        var announcements: [Announcement] = []
        var isSending = false
    }

    private let pool: PostgresPool
    private let open: @Sendable () throws -> PostgresConnection
    private let epoch: @Sendable () -> String
    private let text: AnnouncementText
    private let outbox = Mutex(Outbox())
    private let logger: Logger

    private static let gathering = DispatchTimeInterval.milliseconds(3)
    /// How often `catchUp` is called, even if no announcement was lost.
    private static let catchingUp = Duration.seconds(30)
    private static let rest = Duration.milliseconds(500)
    private static let maxKept = 10_000
    /// After this many polls of 250 ms without a notification, the listener checks whether the database still answers.
    private static let silence = 20
    private let timer = DispatchQueue(label: "optimist.postgres.announcements")
    private let ear = DispatchQueue(label: "optimist.postgres.notifications")

    /// - Parameters:
    ///   - sender: A name that is unique among the processes.
    ///   - open: Opens the connection that listens.
    init(
        pool: PostgresPool, sender: String, logger: Logger, epoch: @escaping @Sendable () -> String,
        open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        self.epoch = epoch
        self.pool = pool
        self.open = open
        self.logger = logger
        text = AnnouncementText(sender: sender)
    }

    func announce(_ announcement: Announcement) {
        let mustStart = outbox.withLock { outbox in
            outbox.announcements.append(announcement)
            defer { outbox.isSending = true }
            return !outbox.isSending
        }
        if mustStart { timer.asyncAfter(deadline: .now() + Self.gathering) { Task { await self.send() } } }
    }

    /// Sends the gathered announcements until none are left. If sending fails, announced changes are dropped, and the
    /// other processes find them when they next catch up.
    func send() async {
        while true {
            let announcements = outbox.withLock { outbox in
                defer { outbox.announcements = [] }
                outbox.isSending = !outbox.announcements.isEmpty
                return outbox.announcements
            }
            if announcements.isEmpty { return }
            let payloads = text.payloads(announcements)
            do {
                try await pool.run { connection in
                    for payload in payloads { try connection.enqueue(SharedStatement.notify, [.text(payload)]) }
                    try connection.flush()
                }
            } catch {
                logger.warning(
                    "Could not notify other processes of changes", metadata: ["error.type": "\(type(of: error))"])
                try? await Task.sleep(for: Self.rest)
                keepEnds(announcements)
            }
        }
    }

    /// Keeps the ends of sessions for another attempt, up to a limit. The other processes find changed rows by
    /// themselves.
    private func keepEnds(_ announcements: [Announcement]) {
        outbox.withLock { outbox in
            let ends = announcements.filter { if case .ended = $0 { true } else { false } }
            if outbox.announcements.count + ends.count <= Self.maxKept { outbox.announcements += ends }
        }
    }

    /// Waits until all announcements are sent, at most two seconds.
    func drain() async {
        for _ in 0..<400 where outbox.withLock(\.isSending) { try? await Task.sleep(for: .milliseconds(5)) }
    }

    func run(hear: @escaping @Sendable (Announcement) -> Void, catchUp: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { tasks in
            let isEnding = Mutex(false)
            tasks.addTask {
                while !Task.isCancelled {
                    await catchUp()
                    try? await Task.sleep(for: Self.catchingUp)
                }
            }
            tasks.addTask { [self] in
                while !Task.isCancelled {
                    await listen(hear, while: { !isEnding.withLock(\.self) }, begun: catchUp)
                    try? await Task.sleep(for: Self.rest)
                }
            }
            await withTaskCancellationHandler {
                await tasks.waitForAll()
            } onCancel: {
                isEnding.withLock { $0 = true }
            }
        }
    }

    /// Listens on a separate connection until it breaks, another epoch begins, or `goesOn` returns false.
    ///
    /// - Parameters:
    ///   - hear: Receives each announcement, on the channel's queue.
    ///   - begun: Called once the connection listens.
    private func listen(
        _ hear: @escaping @Sendable (Announcement) -> Void, while goesOn: @escaping @Sendable () -> Bool,
        begun: @escaping @Sendable () async -> Void
    ) async {
        await withCheckedContinuation { continuation in
            ear.async { [self] in
                do {
                    let (connection, present) = (try open(), epoch())
                    try connection.script("LISTEN optimist")
                    // Find the changes that were announced while this process was not listening.
                    Task { await begun() }
                    var looks = 0
                    while goesOn(), epoch() == present {
                        let payloads = try connection.notifications(within: 250)
                        for payload in payloads {
                            for announcement in text.announcements(in: payload) { hear(announcement) }
                        }
                        looks = payloads.isEmpty ? looks + 1 : 0
                        // A database that is frozen or was replaced does not close its connections.
                        if looks.isMultiple(of: Self.silence) { _ = try connection.query(SharedStatement.backend) }
                    }
                } catch {
                    if goesOn() {
                        logger.warning("The connection that listens to the other processes was lost and is reopened")
                    }
                }
                continuation.resume()
            }
        }
    }
}
