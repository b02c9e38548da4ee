// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// Passes changes to the listeners, and reads the members of spaces to choose the listeners.
struct PokeWatch: Sendable {
    let service: JMAPService
    let pokes: Pokes
    let dependencies: Dependencies

    func changed(account: String, types: Set<String>, state: SyncState) {
        pokes.changed(account: account, types: types, state: state)
        // A failed read is repeated after the next change.
        if pokes.mustReadMembers(of: account) { _ = dependencies.spawn { await readMembers(of: account) } }
        if types.contains(service.spaceType), pokes.isFollowed(account) {
            _ = dependencies.spawn { try? await follow(account) }
        }
    }

    /// Notifies the listeners of this process and of the others.
    func announce(account: String, types: Set<String>, state: SyncState) {
        changed(account: account, types: types, state: state)
        pokes.announce(.changed(account: account, types: types, state: state))
    }

    private func readMembers(of space: String) async {
        var isDone = false
        while !isDone {
            let read = try? await service.readers(of: space)
            if let read { pokes.learn(space, read.persons, at: read.state) }
            isDone = pokes.endReading(space, givingUp: read == nil)
        }
    }

    /// Lets the listeners of a person hear of the spaces that the person uses and is a member of.
    /// - Parameter first: A new listener, which gets the state of each account.
    func follow(_ person: String, telling first: Listener? = nil) async throws {
        let used = Set(try await service.usedSpaces(of: person).keys)
        let states = try await service.states(of: used.union([person]), as: .person(person))
        guard states.open[person] != nil else { throw StoreError.noAccount }
        pokes.follow(person, used, states.open.mapValues(\.state), telling: first)
    }
}
