// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistHealth
import OptimistWire

/// An app on Linux, which tests start with `HealthProcess ROLE FOLDER` and let crash.
///
/// Each launch prints how the previous one ended, and then ends as its role demands.
@main
struct HealthProcess {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { return print("HealthProcess ROLE FOLDER") }
        let folder = URL(filePath: arguments[2], directoryHint: .isDirectory)
        let health = try AppHealth(
            HealthConfiguration(
                app: "campus", salt: "s", version: AppVersion("1.0.1", build: "7"),
                at: folder.appending(path: "health"), server: nil,
                sources: [SwiftBacktraceSource(at: folder.appending(path: "logs"))]),
            transport: nil)
        let end = try await health.countEarlierLaunches()
        try Data("\(end.map(text) ?? "first")".utf8).write(to: folder.appending(path: "end"))
        health.record(unsentRows: 2)
        switch arguments[1] {
        case "unwrap": print(LoginViewModel(member: nil).loginMember())
        case "index": print(UserManager(tokens: ["a"]).reissuanceAccessToken(4))
        case "fatal": refuse("kim@example.org")
        case "segv": writeNowhere()
        case "kill": kill(getpid(), SIGKILL)
        case "background":
            health.enteredBackground()
            kill(getpid(), SIGKILL)
        default: health.willTerminate()
        }
    }

    private static func text(_ end: LaunchEnd) -> String {
        guard case .crashed(let report) = end else { return "\(end)" }
        let signature = report.signature
        return "\(signature.kind)|\(signature.message)|\(signature.frames.first?.function ?? "")"
    }
}

struct LoginViewModel {
    var member: Int?
    // swift-format-ignore: NeverForceUnwrap
    @inline(never) func loginMember() -> Int { member! }
}

struct UserManager {
    var tokens: [String]
    @inline(never) func reissuanceAccessToken(_ index: Int) -> String { tokens[index] }
}

@inline(never) func refuse(_ user: String) { fatalError("there is no user \(user)") }

@inline(never) func writeNowhere() { UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 3 }
