// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer

/// Writes a line to standard output, unbuffered.
///
/// `print` buffers the output to a pipe, so a script that waits for an address would wait forever. If the reader has
/// closed the pipe, as `| head` does, the command exits silently with the status of SIGPIPE. After other errors it
/// prints the error and exits.
///
/// - Parameter line: Control characters are escaped, except line breaks.
func say(_ line: String) { finish(write("\(line)\n", to: STDOUT_FILENO)) }

/// Writes lines that are already escaped. Errors have the same effect as in ``say(_:)``.
func say(_ bytes: [UInt8]) { finish(write(bytes, to: STDOUT_FILENO)) }

private func finish(_ code: Int32) {
    switch code {
    case 0: return
    case EPIPE: exit(128 + SIGPIPE)
    case let code:
        tell("optimist: Cannot write to standard output: \(String(cString: strerror(code))).")
        exit(EXIT_FAILURE)
    }
}

/// Writes a line to standard output. A server continues if this fails.
func mention(_ line: String) { _ = write("\(line)\n", to: STDOUT_FILENO) }

/// Writes a line to standard error, ignoring failures.
func tell(_ line: String) { _ = write("\(line)\n", to: STDERR_FILENO) }

/// Overwrites the previous progress on standard error.
func hint(_ progress: String) { _ = write(Array("\r\(progress.shown())".utf8), to: STDERR_FILENO) }

/// Writes a text with its control characters escaped.
///
/// - Returns: The `errno`, or 0.
func write(_ text: String, to descriptor: Int32) -> Int32 {
    write(Array(text.shown(keeping: ["\n"]).utf8), to: descriptor)
}

/// Writes bytes in as few calls as possible, so that lines of several threads do not mix.
///
/// - Returns: The `errno`, or 0.
private func write(_ all: [UInt8], to descriptor: Int32) -> Int32 {
    var bytes = all[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            bytes = bytes.dropFirst(count)
        } else if errno == EAGAIN {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
