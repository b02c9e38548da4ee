// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import ServiceLifecycle

/// Passes announcements of other processes to the listeners of this process.
struct OtherProcesses: Service {
    let channel: any ProcessChannel
    let service: JMAPService
    let accounts: Accounts
    let pokes: Pokes

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await channel.run {
                hear($0)
            } catchUp: {
                await catchUp()
            }
        }
    }

    private func hear(_ announcement: Announcement) {
        switch announcement {
        case .changed(let account, let types, let state):
            // Empty means all types: the announcement did not have room for their names.
            let changed = types.isEmpty ? Set(service.schema.types.keys) : types
            pokes.changed(account: account, types: changed, state: state)
        case .ended(let account, let session, let reason): accounts.hear(account, session, reason)
        }
    }

    /// Looks for changes in the data, because an announcement may have been lost.
    private func catchUp() async {
        let types = Set(service.schema.types.keys)
        for (account, told) in pokes.listening {
            guard !Task.isCancelled, let state = try? await service.state(of: account) else { continue }
            if let told, told.followed(by: state) == told { continue }
            pokes.changed(account: account, types: types, state: state)
        }
        for (session, account) in pokes.sessions {
            guard !Task.isCancelled, let end = try? await accounts.end(session: session, of: account) else { continue }
            accounts.hear(account, session, end)
        }
    }
}
