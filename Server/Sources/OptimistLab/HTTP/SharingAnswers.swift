// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import Optimist
import OptimistProxy
import OptimistSession

struct SharingPhoneAnswer: ResponseEncodable, Sendable {
    var name: String
    var title: String
    var person: String
    var network: DeviceAnswer.Network
    var pending: Int
    var rejected: Int
    var parked: Int
    var status: DeviceAnswer.Status
    var signedIn: Bool

    init(_ phone: SharingPhone) async throws {
        (name, title, person) = (phone.identity.name, phone.identity.title, phone.identity.person)
        let conditions = NetworkConditionsPatch(phone.proxy.conditions)
        network = DeviceAnswer.Network(
            profile: phone.profile.rawValue, latencyMs: conditions.latencyMs ?? 0,
            lossPercent: conditions.lossPercent ?? 0)
        signedIn = phone.session.account != nil
        status = DeviceAnswer.Status(try await phone.sync.statuses.current())
        (pending, rejected, parked) = (status.pending, status.rejected, status.parked)
    }
}

/// The row that was written, and the time until it was durable.
struct SharingWriteAnswer: ResponseEncodable {
    var id: String
    var localMs: Double
}

/// The rows of a device's screen. Lists name their space, and to-dos their list.
struct SharingScreenAnswer: ResponseEncodable {
    struct Space: Encodable {
        var id: String
        var name: String?
        var role: String?
        var isJoined: Bool
        var mayWrite: Bool
    }

    struct Member: Encodable {
        var id: String
        var space: String
        var name: String?
        var role: String?
        var isMe: Bool
        var sync: String
    }

    /// The code is only known to the device that made the link.
    struct Invitation: Encodable {
        var id: String
        var space: String
        var role: String?
        var label: String?
        var code: String?
        var isUsed: Bool
        var sync: String
    }

    struct List: Encodable {
        var id: String
        var title: String
        var space: String?
        var sync: String
    }

    struct Item: Encodable {
        var id: String
        var list: String
        var content: String
        var priority: Int
        var done: Bool
        var sync: String
    }

    var spaces: [Space]
    var members: [Member]
    var invitations: [Invitation]
    var lists: [List]
    var items: [Item]

    init(_ shown: SharingSnapshot) {
        spaces = shown.spaces.map { space in
            Space(
                id: space.id.text, name: space.name, role: space.role?.rawValue, isJoined: space.isJoined,
                mayWrite: space.mayWrite)
        }
        members = shown.members.map { member in
            Member(
                id: member.id.text, space: member.space.text, name: member.name, role: member.role?.rawValue,
                isMe: member.isMe, sync: member.state ?? "synced")
        }
        invitations = shown.invitations.map { invitation in
            Invitation(
                id: invitation.id.text, space: invitation.space.text, role: invitation.role?.rawValue,
                label: invitation.label, code: invitation.link?.code, isUsed: invitation.used >= invitation.uses ?? 1,
                sync: invitation.state ?? "synced")
        }
        lists = shown.lists.map { list in
            List(id: list.id.text, title: list.title, space: list.space?.text, sync: list.sync)
        }
        items = shown.items.map { item in
            Item(
                id: item.id.text, list: item.listID.text, content: item.content, priority: item.priority,
                done: item.done, sync: item.sync)
        }
    }
}

extension UUID {
    fileprivate var text: String { uuidString.lowercased() }
}
