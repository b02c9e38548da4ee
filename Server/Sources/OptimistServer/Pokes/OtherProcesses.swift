// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
import OptimistWire
import ServiceLifecycle

/// Tells the listeners of this process what other processes have done.
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
        case .changed(let account, let types, let state): pokes.changed(account: account, types: types, state: state)
        case .ended(let account, let session, let reason): accounts.hear(account, session, reason)
        }
    }

    /// Looks at every account that somebody listens to: an announcement may have been lost.
    private func catchUp() async {
        let types = Set(service.schema.types.keys)
        for (account, told) in pokes.listening {
            guard !Task.isCancelled, let state = try? await service.state(of: account), state.seq > told else {
                continue
            }
            pokes.changed(account: account, types: types, state: state)
        }
    }
}
