// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import Subprocess

/// One server process of the lab: it can be killed, stopped for a moment, and started again at the same port.
actor ServerProcess {
    nonisolated let number: Int
    private let command: [String]
    private let database: String
    private let logger: Logger
    /// Zero until it has started for the first time.
    private(set) var port = 0
    private(set) var kills = 0
    private var process: pid_t?
    private var starting: Task<Void, any Error>?
    private var life: Task<Void, Never>?

    /// - Parameters:
    ///   - number: The number by which the page names it.
    ///   - command: The program and its arguments, without the port.
    ///   - database: The database's URL. It may have a password, so it goes into the environment.
    ///   - logger: Learns that a process has failed.
    init(number: Int, command: [String], database: String, logger: Logger) {
        self.number = number
        self.command = command
        self.database = database
        self.logger = logger
    }

    var isRunning: Bool { process != nil }

    /// Starts the process, and returns when it serves. Does nothing if it runs.
    ///
    /// - Throws: `OptimistError` with code `badLabData` if it ends before it serves. It has said why on standard error.
    func start() async throws {
        if let starting { return try await starting.value }
        if isRunning { return }
        let task = Task { try await launch() }
        starting = task
        defer { starting = nil }
        try await task.value
    }

    private func launch() async throws {
        await life?.value
        let (lines, said) = AsyncStream.makeStream(of: String.self)
        life = Task { await live(saying: said) }
        for await line in lines {
            guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else { continue }
            self.port = port
            return
        }
        throw OptimistError(.badLabData, "Server \(number) does not start. What it said stands above.")
    }

    /// Runs the process until it ends. It ends by itself when its standard input does, and so with the lab.
    private func live(saying said: AsyncStream<String>.Continuation) async {
        do {
            _ = try await Subprocess.run(
                .name("env"), arguments: Arguments(command + ["--port", "\(port)"]),
                environment: .inherit.updating(["OPTIMIST_DATABASE": database]), input: .inputWriter, output: .sequence,
                error: .currentStandardError
            ) { execution in
                began(execution.processIdentifier.value)
                for try await line in execution.standardOutput.strings() { said.yield(line) }
                // Until here the system gives the process's number to no other.
                ended()
            }
        } catch {
            logger.warning("A server process has ended", metadata: ["error": "\(error)"])
        }
        ended()
        said.finish()
    }

    private func began(_ process: pid_t) { self.process = process }

    private func ended() { process = nil }

    /// Ends it as a power switch does: kill -9. Returns when it is gone.
    func kill() async {
        guard isRunning else { return }
        signal(SIGKILL)
        kills += 1
        await life?.value
    }

    /// Lets it end in order.
    func stop() async {
        signal(SIGTERM)
        await life?.value
    }

    /// Stops it: it answers nothing until ``goOn()``.
    func freeze() { signal(SIGSTOP) }

    func goOn() { signal(SIGCONT) }

    private func signal(_ number: Int32) { if let process { Foundation.kill(process, number) } }
}
