// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

@testable import OptimistCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A program started by a test. Its input ends when the tests end, in whatever way.
///
/// Foundation's `Process` is not used because on Linux it sometimes crashes in a process with about 1,360 open files,
/// as tests that run in parallel have. To find the highest file it copies 256 bytes of each directory entry, even if
/// the entry is shorter and last in its buffer.
public final class ChildProcess: Sendable {
    private let id: pid_t
    private let input: CInt
    /// The result of `waitpid`, after it returned.
    private let status = Mutex<CInt?>(nil)

    /// - Throws: `POSIXError` if the program cannot be started.
    public init(_ program: URL, _ arguments: [String]) throws {
        let (reading, writing) = try Self.pipe()
        defer { close(reading) }
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, reading, STDIN_FILENO)

        var texts = ([program.path] + arguments).map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program.path, &actions, nil, &texts, environ)
        guard code == 0 else {
            close(writing)
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        }
        (self.id, input) = (id, writing)
    }

    deinit {
        kill()
        close(input)
    }

    /// Kills the program with SIGKILL. Returns when it has ended.
    public func kill() {
        status.withLock { status in
            if status != nil { return }
            endAsInACrash(id)
            status = Self.await(id)
        }
    }

    /// Waits until the program ends. Returns its exit status, or nil if a signal ended it.
    public func exitStatus() -> CInt? {
        let status = status.withLock { status in
            let known = status ?? Self.await(id)
            status = known
            return known
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    private static func await(_ id: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// A pipe that concurrently started programs do not inherit.
    private static func pipe() throws -> (reading: CInt, writing: CInt) {
        var ends: [CInt] = [-1, -1]
        guard systemPipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}

private func endAsInACrash(_ process: pid_t) { kill(process, SIGKILL) }
private func systemPipe(_ ends: UnsafeMutablePointer<CInt>) -> CInt { pipe(ends) }
