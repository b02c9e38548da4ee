// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Logging
import OptimistServer
import Synchronization

/// Carries announcements as PostgreSQL's notifications.
///
/// The channel gathers announcements for a few milliseconds and sends them in as few notifications as possible, after the
/// commits and in a transaction of its own. A notification in every transaction would make all commits wait for each
/// other.
///
/// > Source: PostgreSQL, "NOTIFY"; a commit with a notification takes a lock of the whole database.
final class PostgresChannel: ProcessChannel {
    private struct Outbox {
        var announcements: [Announcement] = []
        var isSending = false
    }

    private let pool: PostgresPool
    private let open: @Sendable () throws -> PostgresConnection
    private let text: AnnouncementText
    private let outbox = Mutex(Outbox())
    private let logger: Logger

    /// How long announcements are gathered.
    private static let gathering = DispatchTimeInterval.milliseconds(3)
    /// How often `catchUp` is called, even if no announcement was lost.
    private static let catchingUp = Duration.seconds(30)
    /// How long to wait after a failed attempt to connect.
    private static let rest = Duration.milliseconds(500)
    private let timer = DispatchQueue(label: "optimist.postgres.announcements")
    private let ear = DispatchQueue(label: "optimist.postgres.notifications")

    /// - Parameters:
    ///   - pool: Sends the notifications.
    ///   - sender: A name that no other process has.
    ///   - open: Opens the connection that listens.
    init(
        pool: PostgresPool, sender: String, logger: Logger, open: @escaping @Sendable () throws -> PostgresConnection
    ) {
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

    /// Sends the gathered announcements, until there are no more. If sending fails, they are dropped, and the other
    /// processes find the changes when they next catch up.
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
                    "Other processes could not be told of changes", metadata: ["error.type": "\(type(of: error))"])
            }
        }
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
                    let wasConnected = await listen(hear, while: { !isEnding.withLock(\.self) }, begun: catchUp)
                    if !wasConnected { try? await Task.sleep(for: Self.rest) }
                }
            }
            await withTaskCancellationHandler {
                await tasks.waitForAll()
            } onCancel: {
                isEnding.withLock { $0 = true }
            }
        }
    }

    /// Listens on a connection of its own until that breaks or `goesOn` returns false.
    ///
    /// - Parameters:
    ///   - hear: Takes each announcement, on the channel's queue.
    ///   - goesOn: Asked every 250 ms at the latest.
    ///   - begun: Called once the connection listens.
    /// - Returns: Whether it could connect.
    private func listen(
        _ hear: @escaping @Sendable (Announcement) -> Void, while goesOn: @escaping @Sendable () -> Bool,
        begun: @escaping @Sendable () async -> Void
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            ear.async { [self] in
                var wasConnected = false
                do {
                    let connection = try open()
                    try connection.script("LISTEN optimist")
                    wasConnected = true
                    // Finds the changes that were announced while this process did not listen.
                    Task { await begun() }
                    while goesOn() {
                        for payload in try connection.notifications(within: 250) {
                            for announcement in text.announcements(in: payload) { hear(announcement) }
                        }
                    }
                } catch {
                    if goesOn() {
                        logger.warning("The connection that hears the other processes is lost. It is opened again")
                    }
                }
                continuation.resume(returning: wasConnected)
            }
        }
    }
}
