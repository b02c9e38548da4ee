// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// A primary and a standby in the lab's folder, which can fail over.
actor DatabasePair {
    enum Following: String, Codable, Sendable, CaseIterable {
        /// A commit waits until the standby has it.
        case synchronous
        /// The standby is slightly behind.
        case asynchronous
        /// The standby receives nothing.
        case cutOff
    }

    struct State: Sendable {
        var primary: String
        /// Nil after a failover, until there is a new standby.
        var following: Following?
    }

    /// Names both nodes, so that the URL also works after a failover.
    nonisolated let url: String
    private var primary: PostgresNode
    private var standby: PostgresNode
    private var orders = PairState(standby: .dead)
    private let mark: URL

    /// Opens or creates the pair. First stops nodes that an earlier lab left running.
    ///
    /// - Throws: `OptimistError` with code `badLabData` if PostgreSQL is not installed or fails.
    init(in folder: URL) async throws {
        let programs = try PostgresPrograms()
        let sockets = FileManager.default.temporaryDirectory.appending(
            path: "optimist-lab-\(UUID().uuidString.prefix(8).lowercased())")
        try FileManager.default.createDirectory(at: sockets, withIntermediateDirectories: true)
        let nodes = ["one", "two"].map { name in
            PostgresNode(
                programs: programs, name: name, directory: folder.appending(path: name),
                sockets: sockets.appending(path: name))
        }
        mark = folder.appending(path: "primary")
        let named = (try? String(contentsOf: mark, encoding: .utf8)) == nodes[1].name ? 1 : 0
        // The mark is written before the promotion. If the promotion failed, the mark names a standby.
        let isPrimary = nodes[named].exists ? !nodes[named].isStandby : !nodes[1 - named].exists
        (primary, standby) = isPrimary ? (nodes[named], nodes[1 - named]) : (nodes[1 - named], nodes[named])
        url = "postgres:///optimist?host=\(nodes[0].sockets.path),\(nodes[1].sockets.path)&user=optimist"
        do {
            try await open(folder)
        } catch {
            await close()
            throw error
        }
    }

    private func open(_ folder: URL) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if primary.exists { try await primary.start() } else { try await primary.make() }
        try await primary.set("synchronous_standby_names", "")
        if standby.exists, standby.isStandby {
            try await standby.start()
        } else {
            try await standby.make(following: primary)
        }
        try await lead(.asynchronous)
    }

    var state: State { State(primary: primary.name, following: orders.following) }

    /// Changes the replication mode, and returns when it is in effect. After a failure, commits do not wait for the
    /// standby.
    ///
    /// - Throws: `OptimistError` with code `badLabRequest` if there is no standby or another operation is running, or
    ///   `badLabData` if PostgreSQL fails.
    func follow(_ wanted: Following) async throws {
        try orders.begin(.follow)
        defer { orders.end() }
        try await lead(wanted)
    }

    private func lead(_ wanted: Following) async throws {
        do {
            // Change the primary first, so that no commit waits for a standby that is about to disconnect.
            try await primary.set("synchronous_standby_names", wanted == .synchronous ? "*" : "")
            let source = wanted == .cutOff ? "nowhere" : ""
            try await standby.set(
                "primary_conninfo", "host=\(primary.sockets.appending(path: source).path) user=optimist")
            try await wait(until: wanted)
        } catch {
            try? await primary.set("synchronous_standby_names", "")
            throw error
        }
        orders.follows(wanted)
    }

    private func wait(until wanted: Following) async throws {
        let streaming = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
        let states: [Following: [String]] = [.synchronous: ["sync"], .asynchronous: ["async"], .cutOff: []]
        for _ in 0..<Self.tries {
            if try await primary.sql(streaming) == states[wanted] { return }
            try await Task.sleep(for: Self.pause)
        }
        throw OptimistError(
            .badLabData, "The standby does not follow the primary. Its log is in \(standby.directory.path).")
    }

    /// A minute in total.
    private static let tries = 1_200
    private static let pause = Duration.milliseconds(50)

    /// Kills the primary and promotes the standby immediately. If the promotion fails, the standby keeps the newest
    /// copy, and the next failover only retries the promotion.
    ///
    /// - Returns: The time from the kill until the new primary accepts writes.
    /// - Throws: As ``follow(_:)``.
    func failOver() async throws -> Duration {
        try orders.begin(.failOver)
        defer { orders.end() }
        let stopwatch = Stopwatch(ContinuousClock())
        if orders.following != nil {
            try await primary.kill()
            orders.killed()
        }
        // Write the mark before the promotion: after the promotion, the data of both nodes looks like a primary's.
        try Data(standby.name.utf8).write(to: mark, options: .atomic)
        try await standby.promote()
        let duration = stopwatch()
        swap(&primary, &standby)
        orders.promoted()
        try await primary.set("synchronous_standby_names", "")
        return duration
    }

    /// Creates a standby in place of the killed primary.
    ///
    /// - Throws: As ``follow(_:)``.
    func replaceStandby() async throws {
        try orders.begin(.replace)
        defer { orders.end() }
        try await standby.make(following: primary)
        try await lead(.asynchronous)
    }

    /// Stops both nodes, even in a cancelled task.
    func close() async {
        let (primary, standby) = (primary, standby)
        // Unstructured, because a subprocess started in a cancelled task ends immediately.
        await Task {
            await standby.stop()
            await primary.stop()
            try? FileManager.default.removeItem(at: primary.sockets.deletingLastPathComponent())
        }.value
    }
}
