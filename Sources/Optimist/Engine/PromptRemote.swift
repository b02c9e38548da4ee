// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A remote whose calls end as soon as their task is cancelled, even if the wrapped remote ignores the cancellation.
/// Late answers are dropped.
struct PromptRemote: Remote {
    private let remote: any Remote
    private let dependencies: Dependencies

    init(_ remote: any Remote, _ dependencies: Dependencies) {
        self.remote = remote
        self.dependencies = dependencies
    }

    var signInState: SignInState { remote.signInState }
    var guarantees: RemoteGuarantees { remote.guarantees }

    func connect() async throws -> RemoteAccount { try await dependencies.promptly { try await remote.connect() } }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        try await dependencies.promptly { try await remote.push(push) }
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        try await dependencies.promptly { try await remote.pull(request) }
    }

    func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        try await dependencies.promptly { try await remote.pullAll(requests) }
    }

    func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        try await dependencies.promptly { try await remote.changedSpaces(since: cursors) }
    }

    func preview(of link: InvitationLink) async throws -> InvitationPreview? {
        try await dependencies.promptly { try await remote.preview(of: link) }
    }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await dependencies.promptly { try await remote.snapshot(request) }
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws {
        try await dependencies.promptly { try await remote.listen(receive) }
    }
}

extension Dependencies {
    /// - Throws: `CancellationError` immediately if the calling task is cancelled; otherwise errors of the work.
    func promptly<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await SharedWork<Value>().value(spawn, work)
    }
}
