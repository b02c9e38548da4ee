// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import Optimist
import OptimistCore
import OptimistProxy
import OptimistWire

/// The devices of two people who share lists.
struct SharingRoutes {
    let scene: SharingScene

    func add(to router: Router<some RequestContext>) {
        let sharing = router.group("lab/sharing")
        sharing.get { _, _ in try await answer() }
        sharing.post("start-over") { _, _ in
            try await scene.startOver()
            return try await answer()
        }
        sharing.get("events") { request, _ in EventStreamAnswer.response(to: request, from: scene.newsroom) }
        let phone = sharing.group("phones/:phone")
        phone.get { _, context in try await SharingPhoneAnswer(try await named(context)) }
        phone.put("network") { request, context in
            let phone = try await named(context)
            let bytes = try await request.collected()
            try await phone.setNetwork(try JSONDecoder().decode(NetworkConditionsPatch.self, from: bytes))
            let drop = try JSONDecoder().decode(LostResponses.self, from: bytes).dropNextResponses
            if let drop { phone.proxy.dropNextResponses(max(0, drop)) }
            return try await SharingPhoneAnswer(phone)
        }
        phone.get("screen") { _, context in SharingScreenAnswer(try await named(context).screen.snapshot) }
        addUnsent(to: phone)
        addLists(to: phone)
        addSpaces(to: phone)
    }

    private func addLists(to phone: RouterGroup<some RequestContext>) {
        phone.post("lists") { request, context in
            let body = try await request.decode(as: NewList.self, context: context)
            let title = try filled(body.title, or: "A list needs \"title\".")
            return try await write(context) { try await $0.addList(title, to: body.space).id }
        }
        phone.put("lists/:id/space") { request, context in
            let (list, space) = (try id(context), try await request.decode(as: Place.self, context: context).space)
            return try await write(context) { phone in
                try await phone.move(list, to: space)
                return list
            }
        }
        phone.post("lists/:id/items") { request, context in
            let (list, edit) = (try id(context), try await request.decode(as: ItemEdit.self, context: context))
            let content = try filled(edit.content, or: "A to-do needs \"content\".")
            return try await write(context) { try await $0.addItem(content, to: list).id }
        }
        phone.patch("items/:id") { request, context in
            let (item, edit) = (try id(context), try await request.decode(as: ItemEdit.self, context: context))
            return try await write(context) { phone in
                try await phone.change(item, edit)
                return item
            }
        }
        phone.delete("items/:id") { _, context in
            let item = try id(context)
            return try await write(context) { phone in
                try await phone.delete(item)
                return item
            }
        }
    }

    private func addSpaces(to phone: RouterGroup<some RequestContext>) {
        phone.post("spaces") { request, context in
            let name = try await request.decode(as: NewSpace.self, context: context).name
            let checked = try filled(name, or: "A space needs \"name\".")
            return try await write(context) { try await $0.createSpace(named: checked).id }
        }
        phone.delete("spaces/:id") { _, context in
            let space = try id(context)
            return try await write(context) { phone in
                try await phone.store.leave(space)
                return space
            }
        }
        phone.post("spaces/:id/invitations") { request, context in
            let (space, role) = (try id(context), try await request.decode(as: Role.self, context: context).role)
            return LinkAnswer(code: try await named(context).invite(to: space, as: role).code)
        }
        phone.post("accepted") { request, context in
            let code = try await request.decode(as: Link.self, context: context).code
            return try await write(context) { try await $0.accept(code: code).id }
        }
        phone.put("members/:id/role") { request, context in
            let (member, role) = (try id(context), try await request.decode(as: Role.self, context: context).role)
            return try await write(context) { phone in
                try await phone.store.setRole(of: member, to: role)
                return member
            }
        }
        phone.delete("members/:id") { _, context in
            let member = try id(context)
            return try await write(context) { phone in
                try await phone.store.remove(member)
                return member
            }
        }
    }

    private func addUnsent(to phone: RouterGroup<some RequestContext>) {
        phone.get("outbox") { _, context in
            try await named(context).store.pendingRows(limit: 500).map(OutboxAnswer.init)
        }
        phone.get("rejections") { _, context in
            JSONAnswer(.array(try await named(context).store.rejections().map(\.controlJSON)))
        }
        phone.post("rejections/:number/retry") { request, context in
            let number = try context.parameters.require("number", as: Int64.self)
            try await named(context).store.retry(rejectionNumbered: number, try await request.collected())
            return EmptyAnswer()
        }
        phone.delete("rejections/:number") { _, context in
            let number = try context.parameters.require("number", as: Int64.self)
            try await named(context).store.discard(rejectionNumbered: number)
            return EmptyAnswer()
        }
    }

    // MARK: - Reading requests

    private func named(_ context: some RequestContext) async throws -> SharingPhone {
        try await scene.phone(try context.parameters.require("phone"))
    }

    private func filled(_ text: String?, or complaint: String) throws -> String {
        guard let text, !text.isEmpty else { throw OptimistError(.badLabRequest, complaint) }
        return text
    }

    private func id(_ context: some RequestContext) throws -> UUID {
        guard let id = UUID(uuidString: try context.parameters.require("id")) else {
            throw OptimistError(.badLabRequest, "The id must be a UUID.")
        }
        return id
    }

    private func write(
        _ context: some RequestContext, _ work: (SharingPhone) async throws -> UUID
    ) async throws -> SharingWriteAnswer {
        let phone = try await named(context)
        let stopwatch = Stopwatch(ContinuousClock())
        let id = try await work(phone)
        return SharingWriteAnswer(id: id.uuidString.lowercased(), localMs: stopwatch() / .milliseconds(1))
    }

    private func answer() async throws -> [SharingPhoneAnswer] {
        var answers: [SharingPhoneAnswer] = []
        for phone in try await scene.phones() { answers.append(try await SharingPhoneAnswer(phone)) }
        return answers
    }
}

private struct NewList: Decodable {
    var title: String?
    var space: UUID?
}

private struct NewSpace: Decodable { var name: String? }

private struct Place: Decodable { var space: UUID? }

private struct Role: Decodable { var role: SpaceRole }

private struct Link: Decodable { var code: String }

private struct LostResponses: Decodable { var dropNextResponses: Int? }

private struct LinkAnswer: ResponseEncodable { var code: String }
