// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistTesting

/// What people do with spaces.
extension SharingPeople {
    /// Lets devices try a link that the server does not know for a day (P1). Then each person leaves the spaces that a
    /// restored server does not know, because the devices keep them until then (P12).
    func everythingIsHealed() {
        scheduler.after(.seconds(300)) { [self] in scheduler.skip(seconds: 90_000) }
        for seconds in [900, 1200] { scheduler.after(.seconds(seconds)) { [self] in leaveLostSpaces() } }
    }

    private func leaveLostSpaces() {
        let history = withState(\.history)
        for (number, device) in devices.enumerated() {
            guard let launch = device.launch else { continue }
            let known = Set(history.visible(to: world.app.person(of: number)).compactMap(\.space))
            launch.process.spawn { [self] in
                do {
                    for space in try await launch.store.read({ try Space.fetchAll($0) }) {
                        if known.contains(Self.digits(of: space.id)) { continue }
                        log("device \(number) leaves \(space.id), which the server does not know")
                        try await space.role == .owner
                            ? launch.store.deleteSpace(space.id) : launch.store.leave(space.id)
                    }
                } catch { log("device \(number) cannot leave a lost space: \(error)") }
            }
        }
    }

    /// - Returns: Whether there was anything to do.
    func carryOut(_ event: Plan.Event, in store: Store) async throws -> Bool {
        var random = SplitMix64(seed: event.draw)
        let name = world.app.person(of: event.device)
        let spaces = try await store.read { try Space.order(Column("id")).fetchAll($0) }
        if event.kind == .found {
            guard spaces.count < 4 else { return false }
            _ = try await store.createSpace(named: "space of \(name)", as: name)
            return true
        }
        if event.kind == .accept {
            let links = withState(\.links)
            guard let link = links.randomElement(using: &random) else { return false }
            _ = try await store.accept(link, as: name)
            return true
        }
        guard let space = spaces.randomElement(using: &random) else { return false }
        let members = try await store.read { try SpaceMember.of(space.id).fetchAll($0) }
        switch event.kind {
        case .invite:
            let role = [SpaceRole.writer, .writer, .reader, .owner].randomElement(using: &random) ?? .writer
            let invitation = try await store.invite(
                to: space.id, as: role, label: "list of \(name)", uses: event.amount,
                for: .seconds(Int.random(in: 60...2000, using: &random)))
            if let link = invitation.link { withState { $0.links.append(link) } }
        case .leave:
            try await store.leave(space.id)
            leave(space.id)
        case .remove:
            guard let member = members.filter({ !$0.isMe }).randomElement(using: &random) else { return false }
            try await store.remove(member.id)
        case .setRole:
            guard let member = members.randomElement(using: &random) else { return false }
            let role = [SpaceRole.owner, .writer, .reader].randomElement(using: &random) ?? .reader
            try await store.setRole(of: member.id, to: role)
        case .transfer:
            guard let member = members.randomElement(using: &random) else { return false }
            try await store.transfer(space.id, to: member.id)
        case .revokeInvitation:
            let open = try await store.read { try SpaceInvitation.of(space.id).fetchAll($0) }
            guard let invitation = open.randomElement(using: &random) else { return false }
            try await store.revoke(invitation.id)
        case .deleteSpace:
            try await store.deleteSpace(space.id)
            leave(space.id)
        default: return false
        }
        return true
    }

    private func leave(_ space: UUID) {
        withState { $0.history.leave(Self.digits(of: space)) }
    }

    private static func digits(of id: UUID) -> String { id.uuidString.lowercased().replacing("-", with: "") }
}
