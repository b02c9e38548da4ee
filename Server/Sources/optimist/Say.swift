// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer

/// Writes a line to standard output at once. `print` keeps it back while the output is a pipe, and a script that waits
/// for an address would wait for ever.
///
/// If the reader of the output has left, as after `| head`, the command ends without a word, with the exit status of a
/// program that SIGPIPE has ended. If the output cannot be written otherwise, it says so on standard error and ends.
///
/// - Parameter line: Characters that control a terminal are written as escapes, except line breaks.
func say(_ line: String) { finish(write("\(line)\n", to: STDOUT_FILENO)) }

/// Writes lines that were escaped before, as ``say(_:)`` does.
func say(_ bytes: [UInt8]) { finish(write(bytes, to: STDOUT_FILENO)) }

/// Ends the command if standard output could not be written.
private func finish(_ code: Int32) {
    switch code {
    case 0: return
    case EPIPE: exit(128 + SIGPIPE)
    case let code:
        tell("optimist: Standard output cannot be written: \(String(cString: strerror(code))).")
        exit(EXIT_FAILURE)
    }
}

/// Writes a line to standard output, if that has a reader. A server goes on without a reader.
func mention(_ line: String) { _ = write("\(line)\n", to: STDOUT_FILENO) }

/// Writes a line to standard error, if that has a reader.
func tell(_ line: String) { _ = write("\(line)\n", to: STDERR_FILENO) }

/// Writes how far a command is to standard error, over what it wrote there before.
func hint(_ progress: String) { _ = write(Array("\r\(progress.shown())".utf8), to: STDERR_FILENO) }

/// Writes a text, in which characters that control a terminal are escaped.
///
/// - Returns: The number of the error, or 0.
func write(_ text: String, to descriptor: Int32) -> Int32 {
    write(Array(text.shown(keeping: ["\n"]).utf8), to: descriptor)
}

/// Writes bytes in as few pieces as the system allows, so that lines of several threads do not mix.
///
/// - Returns: The number of the error, or 0.
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
