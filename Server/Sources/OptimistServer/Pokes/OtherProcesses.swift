// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import ServiceLifecycle

/// Passes announcements of other processes to the listeners of this process.
struct OtherProcesses: Service {
    let channel: any ProcessChannel
    let service: JMAPService
    let accounts: Accounts
    let watch: PokeWatch

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
            watch.changed(account: account, types: changed, state: state)
        case .ended(let account, let session, let reason): accounts.hear(account, session, reason)
        }
    }

    /// Looks for changes in the data, because an announcement may have been lost.
    private func catchUp() async {
        let types = Set(service.schema.types.keys)
        let told = watch.pokes.listening
        let states = try? await service.states(of: Set(told.keys), as: .operator)
        for (account, found) in states?.open ?? [:] {
            if let told = told[account] ?? nil, told.followed(by: found.state) == told { continue }
            watch.changed(account: account, types: types, state: found.state)
        }
        for (session, account) in watch.pokes.sessions {
            guard !Task.isCancelled, let end = try? await accounts.end(session: session, of: account) else { continue }
            accounts.hear(account, session, end)
        }
    }
}
