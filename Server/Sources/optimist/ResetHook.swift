// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import Subprocess

/// Hands a reset token to a program of the operator's, which sends it to its owner: `optimist serve --reset-hook`.
///
/// The program gets one line of JSON on its standard input: `email`, `token` and `expiresAt`. The token is neither among
/// its arguments nor in its environment, where other users of the machine could see it.
struct ResetHook: Sendable {
    let program: String

    func deliver(_ reset: PasswordReset) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let line = String(decoding: try encoder.encode(reset), as: UTF8.self) + "\n"
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                // The shell only becomes the program, whose path it is given as a value and does not read.
                let result = try await run(
                    .name("sh"), arguments: ["-c", "exec \"$0\"", program], input: .string(line), output: .discarded)
                guard result.terminationStatus.isSuccess else {
                    throw OptimistError(.resetHookFailed, "\(program) ended with \(result.terminationStatus).")
                }
            }
            tasks.addTask {
                try await Task.sleep(for: Self.patience)
                throw OptimistError(.resetHookFailed, "\(program) took longer than \(Self.patience).")
            }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }

    /// How long the program may take. The next token waits for it.
    private static let patience = Duration.seconds(60)
}

extension OptimistError.Code {
    /// The program that delivers reset tokens failed.
    static let resetHookFailed = Self("resetHookFailed")
}
