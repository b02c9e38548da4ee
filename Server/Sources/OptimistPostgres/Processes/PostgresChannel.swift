// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Logging
import OptimistServer
import Synchronization

/// Carries announcements by PostgreSQL's notifications.
///
/// What this process announces within a few milliseconds goes out as one notification, after the commits and in a transaction
/// of its own: a notification in every transaction would make all commits wait for each other.
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
    /// How often the data is looked at, whatever was announced.
    private static let catchingUp = Duration.seconds(30)
    /// How long a lost connection is left before the next try.
    private static let rest = Duration.milliseconds(500)
    private let timer = DispatchQueue(label: "optimist.postgres.announcements")
    private let ear = DispatchQueue(label: "optimist.postgres.notifications")

    /// - Parameters:
    ///   - pool: Sends the notifications.
    ///   - sender: A name that no other process has.
    ///   - open: Opens a connection that listens.
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

    /// Sends what was gathered, until there is nothing more. What cannot be sent is dropped: the others look for themselves.
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

    /// Listens on a connection of its own until that breaks.
    ///
    /// - Returns: Whether there was one.
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
                    // Whatever was announced while nobody listened.
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
