// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistSession

extension SyncEngine {
    /// Connects if the engine has not connected yet, or if another account has signed in after the engine connected.
    func connected() async throws -> RemoteAccount {
        await untilRestored()
        if let account, remote.signInState == connectedAs { return account }
        account = nil
        return try await connecting.value(storeTasks.spawn) { try await self.connectAndBind() }
    }

    /// Sets `account` before the attempt ends, so that no other lane connects again in between.
    private func connectAndBind() async throws -> RemoteAccount {
        let person = remote.signInState
        let present = try await connect()
        // A remote may ignore the cancellation.
        try Task.checkCancellation()
        if let install = try await session?.installID() ?? installID { try await store.recognise(install: install) }
        try await store.bind(to: present.id, as: person) { [remote] in remote.signInState }
        try await store.note(remote.guarantees)
        if let own = present.ownAccount { try await store.note(ownAccount: own) }
        if let schema = present.schema { try await store.check(against: schema) }
        if let served = present.tables { try await store.skip(tablesBut: served) }
        try Task.checkCancellation()
        (account, connectedAs) = (present, person)
        return present
    }

    /// Until the session has read its credentials, the account that the answers belong to is unknown.
    private func untilRestored() async {
        guard let session, session.state == .restoring else { return }
        for await state in session.states where state != .restoring { return }
    }

    /// A refused connection is not about a row, so it counts as an unreachable remote.
    private func connect() async throws -> RemoteAccount {
        do { return try await remote.connect() } catch RemoteFailure.signedOut(let reason) {
            if remote.signInState == .unknown { try await store.note(.nobody) }
            throw RemoteFailure.signedOut(reason)
        } catch RemoteFailure.refused(let reason) {
            throw RemoteFailure.unreachable(reason)
        } catch RemoteFailure.tooLarge {
            throw RemoteFailure.unreachable("the server refused to connect because the request is too large")
        }
    }
}
