// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import Subprocess

/// A PostgreSQL cluster behind a Unix socket: a primary, or a standby that follows one.
struct PostgresNode: Sendable {
    let programs: PostgresPrograms
    let name: String
    /// Contains the data and the log.
    let directory: URL
    /// The directory of the socket, outside the lab's folder, because a socket's path must be short.
    let sockets: URL

    private var data: String { directory.appending(path: "data").path }

    var exists: Bool { FileManager.default.fileExists(atPath: "\(data)/PG_VERSION") }

    var isStandby: Bool { FileManager.default.fileExists(atPath: "\(data)/standby.signal") }

    // MARK: - Starting and stopping

    func make() async throws {
        try await programs.makeDirectory(directory)
        try await programs.run(
            "initdb",
            [
                "--pgdata", data, "--username", "optimist", "--auth", "trust", "--encoding", "UTF8", "--locale", "C",
            ])
        try await start()
        try await programs.run("createdb", ["--host", sockets.path, "--username", "optimist", "optimist"])
    }

    /// Creates a standby of a running primary, and starts it. First stops the node in this directory.
    func make(following primary: PostgresNode) async throws {
        await stop()
        try? FileManager.default.removeItem(at: directory)
        try await programs.makeDirectory(directory)
        try await programs.run(
            "pg_basebackup",
            [
                "--pgdata", data, "--host", primary.sockets.path, "--username", "optimist", "--write-recovery-conf",
                "--checkpoint", "fast",
            ])
        try await start()
    }

    /// First stops the node if an earlier lab left it running.
    func start() async throws {
        await stop()
        try await programs.makeDirectory(sockets)
        let settings = [
            "unix_socket_directories=\(sockets.path)", "listen_addresses=", "max_connections=100",
            "dynamic_shared_memory_type=mmap",
            // If a standby is promoted just when it loses its primary, it first waits this long.
            "wal_retrieve_retry_interval=250ms",
        ]
        try await programs.run(
            "pg_ctl",
            [
                "--pgdata", data, "--wait", "--log", directory.appending(path: "log").path,
                "-o", settings.map { "-c \($0)" }.joined(separator: " "), "start",
            ])
    }

    func stop() async { _ = try? await programs.run("pg_ctl", ["--pgdata", data, "--mode", "fast", "--wait", "stop"]) }

    /// Kills all its processes with SIGKILL.
    func kill() async throws {
        let lines = try String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)
        guard let first = lines.split(separator: "\n").first.flatMap({ pid_t($0) }) else { return }
        let listed = try await Subprocess.run(
            .name("ps"), arguments: ["-A", "-o", "pid=,ppid="], output: .string(limit: 1 << 22))
        let children = listed.standardOutput.split(separator: "\n").compactMap { line -> pid_t? in
            let numbers = line.split(separator: " ").compactMap { pid_t($0) }
            return numbers.count == 2 && numbers[1] == first ? numbers[0] : nil
        }
        for process in [first] + children { Foundation.kill(process, SIGKILL) }
        // Shared memory of a killed cluster remains until it is removed.
        guard let memory = Self.sharedMemory(in: lines) else { return }
        _ = try? await Subprocess.run(.name("ipcrm"), arguments: ["-m", memory], output: .discarded)
    }

    /// Returns the second word of the seventh line of `postmaster.pid`. The sixth line is empty if the cluster listens
    /// only on a socket.
    ///
    /// > Source: PostgreSQL, `src/include/utils/pidfile.h`, `LOCK_FILE_LINE_SHMEM_KEY`.
    static func sharedMemory(in lockFile: String) -> String? {
        let lines = lockFile.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 6 else { return nil }
        let words = lines[6].split(separator: " ")
        return words.count == 2 ? String(words[1]) : nil
    }

    func promote() async throws { try await programs.run("pg_ctl", ["--pgdata", data, "--wait", "promote"]) }

    // MARK: - Settings

    @discardableResult
    func sql(_ statement: String) async throws -> [String] {
        try await programs.run(
            "psql",
            [
                "--host", sockets.path, "--username", "optimist", "--dbname", "optimist", "--no-psqlrc",
                "--tuples-only", "--no-align", "--command", statement,
            ]
        ).split(separator: "\n").map(String.init)
    }

    func set(_ name: String, _ value: String) async throws {
        try await sql("ALTER SYSTEM SET \(name) = '\(value)'")
        try await sql("SELECT pg_reload_conf()")
    }
}
