// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import Subprocess

/// A server process that can be killed, paused, and restarted on the same port.
actor ServerProcess {
    nonisolated let number: Int
    private let command: [String]
    private let database: String
    private let logger: Logger
    /// Zero before the first start.
    private(set) var port = 0
    private(set) var kills = 0
    private var process: pid_t?
    private var starting: Task<Void, any Error>?
    private var life: Task<Void, Never>?

    /// - Parameters:
    ///   - command: The program and its arguments, without the port.
    ///   - database: The URL. It may contain a password, so it is passed in the environment.
    init(number: Int, command: [String], database: String, logger: Logger) {
        self.number = number
        self.command = command
        self.database = database
        self.logger = logger
    }

    var isRunning: Bool { process != nil }

    /// Returns when the process accepts requests.
    ///
    /// - Throws: `OptimistError` with code `badLabData` if the process ends before that. Its standard error has the
    ///   reason.
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
        throw OptimistError(.badLabData, "Server \(number) did not start. Its output is above.")
    }

    /// Runs the process until it ends. It exits when its standard input closes, so it never outlives the lab.
    private func live(saying said: AsyncStream<String>.Continuation) async {
        do {
            _ = try await Subprocess.run(
                .name("env"), arguments: Arguments(command + ["--port", "\(port)"]),
                environment: .inherit.updating(["OPTIMIST_DATABASE": database]), input: .inputWriter, output: .sequence,
                error: .currentStandardError
            ) { execution in
                began(execution.processIdentifier.value)
                for try await line in execution.standardOutput.strings() { said.yield(line) }
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

    /// Returns when the process has ended.
    func kill() async {
        guard isRunning else { return }
        signal(SIGKILL)
        kills += 1
        await life?.value
    }

    func stop() async {
        signal(SIGTERM)
        await life?.value
    }

    /// The process does not answer until ``goOn()``.
    func freeze() { signal(SIGSTOP) }

    func goOn() { signal(SIGCONT) }

    private func signal(_ number: Int32) { if let process { Foundation.kill(process, number) } }
}
