// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Logging
import OptimistCore
import OptimistSession

/// A session in a separate process, for tests that kill it and look for secrets in its output.
///
/// Its arguments are `FOLDER SERVER`. It logs everything to standard error. It takes one command per line of standard
/// input, answers each on standard output, and ends when its input does:
///
/// - `sign-up EMAIL PASSWORD`: `done`.
/// - `ask` sends a request that needs a session: `answered STATUS`, with the server's status.
/// - `describe`: `described`, when the log contains the description of everything that holds a secret.
/// - `crash`: a runtime failure while everything that holds a secret is in memory.
///
/// A command that fails answers `ended REASON` if no user is signed in, and otherwise `failed ERROR`.
@main
struct SessionProcess {
    let session: Session
    let credentials: FileCredentialStore

    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let server = URL(string: arguments[2]) else {
            return print("SessionProcess FOLDER SERVER")
        }
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = .trace
            return handler
        }
        let credentials = FileCredentialStore(at: URL(filePath: arguments[1], directoryHint: .isDirectory))
        let process = SessionProcess(
            session: Session(server: server, transport: AsyncHTTPClientTransport.shared, credentials: credentials),
            credentials: credentials)
        while let line = readLine() {
            let answer = await process.answer(line.split(separator: " ").map(String.init))
            FileHandle.standardOutput.write(Data("\(answer)\n".utf8))
        }
    }

    private func answer(_ words: [String]) async -> String {
        do {
            switch words.first {
            case "sign-up":
                try await session.signUp(email: words[1], password: words[2])
                return "done"
            case "ask":
                let answer = try await session.send(
                    SessionRequest("/jmap/session", headTimeout: .seconds(300), deadline: .seconds(600)))
                return "answered \(answer.head.status.code)"
            case "describe":
                try describe()
                return "described"
            default:
                let nobody: [Session] = []
                return "\(nobody[words.count])"
            }
        } catch {
            FileHandle.standardError.write(Data("\(String(reflecting: error))\n".utf8))
            if let reason = (error as? OptimistError)?.signOutReason { return "ended \(reason)" }
            return "failed \(error)"
        }
    }

    private func describe() throws {
        let kept = try credentials.load()
        let holders: [Any] = [session, session.state, credentials, kept as Any, kept?.accessToken as Any]
        for holder in holders {
            var text = "\(holder) \(String(reflecting: holder))\n"
            dump(holder, to: &text)
            FileHandle.standardError.write(Data(text.utf8))
        }
    }
}
