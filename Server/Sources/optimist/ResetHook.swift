// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import Subprocess

/// Passes a password reset to the operator's program, which sends the token to the account's owner.
///
/// The program receives one line of JSON on its standard input: `email`, `token` and `expiresAt`. Other users of the
/// machine could see its arguments and environment, so the token is in neither.
struct ResetHook: Sendable {
    let program: String

    func deliver(_ reset: PasswordReset) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let line = String(decoding: try encoder.encode(reset), as: UTF8.self) + "\n"
        let late = OptimistError(.resetHookFailed, "\(program) took longer than \(Self.patience).")
        try await withDeadline(Self.patience, late: late) {
            // The shell only executes the program. The path is an argument, so the shell does not parse it.
            let result = try await run(
                .name("sh"), arguments: ["-c", "exec \"$0\"", program], input: .string(line), output: .discarded)
            guard result.terminationStatus.isSuccess else {
                throw OptimistError(.resetHookFailed, "\(program) ended with \(result.terminationStatus).")
            }
        }
    }

    /// The program's time limit. Later resets wait for the program.
    private static let patience = Duration.seconds(60)
}

extension OptimistError.Code {
    static let resetHookFailed = Self("resetHookFailed")
}
