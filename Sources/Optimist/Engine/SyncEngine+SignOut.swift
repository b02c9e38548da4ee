// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistSession

/// How to treat changes that are not on the server yet when the user signs out (L2).
public enum PendingChanges: Sendable, Hashable {
    /// The changes stay pending in the file. The engine sends them when the same account signs in again. The default.
    case keep
    /// The engine waits up to this time for the changes to be sent. If some are left, it asks the app once more. After
    /// a second wait, the rest stays in the file, as with `keep`.
    case wait(timeout: Duration)
    /// The store undoes the changes: see ``Store/discardPending()``.
    case discard
}

extension SyncEngine {
    /// Signs the user out on this device, after the app has decided about unsent changes.
    ///
    /// ```swift
    /// try await sync.signOut { pending in
    ///     await ask("\(pending) changes are not on the server yet.") ? .wait(timeout: .seconds(10)) : .keep
    /// }
    /// ```
    ///
    /// The file stays bound to its account. Its pending changes are never sent under another account, and the store
    /// refuses writes to synced tables while another account is signed in. If several people sign in to your app, open
    /// a file for each with ``AccountFiles``. If the task is cancelled while it waits, the user stays signed in.
    ///
    /// - Parameter decide: Called with the number of pending rows, if there are any. Default: keeps them.
    /// - Returns: The number of rows that are still pending in the file.
    /// - Throws: `OptimistError` with code `syncStopped` if the answer is to wait and ``run()`` is not under way, so no
    ///   rows can be sent; `DatabaseError`; `CancellationError`; the errors of `Session.signOut()`. The user then stays
    ///   signed in.
    @discardableResult
    public nonisolated func signOut(
        _ decide: @Sendable (_ pending: Int) async -> PendingChanges = { _ in .keep }
    ) async throws -> Int {
        var waits = 0
        while waits < 2 {
            let pending = try await store.counts().pending
            if pending == 0 { break }
            let answer = await decide(pending)
            if case .wait(let limit) = answer {
                guard isRunning else { throw Self.stopped }
                try await waitUntilSent(upTo: limit)
                waits += 1
                continue
            }
            if answer == .discard { try await store.discardPending() }
            break
        }
        try await session?.signOut()
        try await store.note(remote.signInState)
        return try await store.counts().pending
    }

    private static var stopped: OptimistError {
        OptimistError(
            .syncStopped,
            """
            Sync is not running, so the unsent changes cannot be sent. They are kept, and you are still \
            signed in. Run the engine while you wait, or keep or discard the changes instead of waiting.
            """)
    }

    private nonisolated func waitUntilSent(upTo limit: Duration) async throws {
        syncNow()
        let (store, clock) = (store, store.dependencies.clock)
        try await withThrowingTaskGroup { group in
            group.addTask {
                let changes = store.changes.stream()
                if try await store.counts().pending == 0 { return }
                for await _ in changes where try await store.counts().pending == 0 { return }
            }
            group.addTask { try await clock.sleep(for: limit) }
            try await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}
