// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Requests the next part of a snapshot while the engine applies the last one, to hide the time of network and JSON
/// parsing.
final class SnapshotAhead: Sendable {
    let request: RemoteSnapshot.Request
    private let result: Result
    private let task: Task<Void, Never>

    private final class Result: Sendable {
        let value = Mutex<Swift.Result<RemoteSnapshot, any Error>?>(nil)
    }

    init(_ request: RemoteSnapshot.Request, of remote: any Remote, _ dependencies: Dependencies) {
        let result = Result()
        self.request = request
        self.result = result
        task = dependencies.spawn {
            do {
                let page = try await remote.snapshot(request)
                result.value.withLock { $0 = .success(page) }
            } catch {
                result.value.withLock { $0 = .failure(error) }
            }
        }
    }

    /// - Throws: Errors of the remote; `CancellationError` if the caller is cancelled.
    var page: RemoteSnapshot {
        get async throws {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            guard let result = result.value.withLock({ $0 }) else { throw CancellationError() }
            return try result.get()
        }
    }

    /// Whether this is the requested part. Its number of rows may differ.
    func brings(_ asked: RemoteSnapshot.Request) -> Bool {
        var asked = asked
        asked.limit = request.limit
        return asked == request
    }

    func cancel() { task.cancel() }
}
