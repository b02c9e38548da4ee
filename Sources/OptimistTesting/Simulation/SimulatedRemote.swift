// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistCore

/// The last pushes and pulls of devices, in virtual time.
final class RemoteBook: Sendable {
    private struct State {
        var lastPush = Duration.zero
        /// The start of the last pull after which nothing was left to receive, by device and table.
        var received: [String: [String: Duration]] = [:]
        /// The served tables, by the remote's last answer to a device. Nil means all tables.
        var served: Set<String>?
    }

    private let state = Mutex(State())

    func connected(to account: RemoteAccount) { state.withLock { $0.served = account.tables } }

    func pushed(at time: Duration) { state.withLock { $0.lastPush = max($0.lastPush, time) } }

    func received(_ tables: [String], by device: String, since time: Duration) {
        state.withLock { state in
            for table in tables { state.received[device, default: [:]][table] = time }
        }
    }

    /// The tables where a device may lack rows that other devices have pushed, sorted by name.
    func behind(_ device: String, of tables: [String]) -> [String] {
        state.withLock { state in
            let served = tables.filter { state.served?.contains($0) ?? true }
            return served.filter { (state.received[device]?[$0]).map { $0 <= state.lastPush } ?? true }.sorted()
        }
    }
}

/// One launch's connection to a remote, over the device's link.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct SimulatedRemote: Remote {
    let base: any Remote
    let device: String
    let link: SimulatedLink
    let process: SimulatedProcess
    let backend: SimulatedProcess
    let book: RemoteBook

    var signInState: SignInState { base.signInState }
    var guarantees: RemoteGuarantees { base.guarantees }

    func connect() async throws -> RemoteAccount {
        let account = try await link.carry(from: process, to: backend) { try await base.connect() }
        book.connected(to: account)
        return account
    }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        try await link.carry(from: process, to: backend) {
            let answer = try await base.push(push)
            if !push.rows.isEmpty { book.pushed(at: link.scheduler.now) }
            return answer
        }
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        let start = link.scheduler.now
        let page = try await link.carry(from: process, to: backend) { try await base.pull(request) }
        if !page.hasMore { book.received(request.tables, by: device, since: start) }
        return page
    }

    func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        try await link.carry(from: process, to: backend) { try await base.pullAll(requests) }
    }

    func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        try await link.carry(from: process, to: backend) { try await base.changedSpaces(since: cursors) }
    }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await link.carry(from: process, to: backend) { try await base.snapshot(request) }
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws {
        if !link.conditions.isOnline { throw RemoteFailure.notSent("The device is offline.") }
        try await base.listen { poke in
            if link.conditions.isOnline, process.isAlive { receive(poke) }
        }
    }
}

/// The remote of one device, and the process that executes its calls.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct RemoteOfDevice: Sendable {
    let base: any Remote
    let backend: SimulatedProcess
    let book: RemoteBook
}
