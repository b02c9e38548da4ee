// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore

/// A person's writes on a device. Each is local, also offline, and throws if the person's role forbids it.
extension SharingPhone {
    func addList(_ title: String, to space: UUID?) async throws -> LabList {
        let list = LabList(title: title, space: space)
        try await store.write { try list.insert($0) }
        return list
    }

    /// Moves a list with its to-dos.
    ///
    /// - Parameter space: Nil moves it to the person's own rows.
    func move(_ list: UUID, to space: UUID?) async throws {
        try await store.write { db in
            guard let moved = try LabList.fetchOne(db, key: list) else { throw Self.missing("list", list) }
            try moved.move(to: space, in: db)
        }
    }

    func addItem(_ content: String, to list: UUID) async throws -> LabItem {
        let item = LabItem(listID: list, content: content)
        try await store.write { db in
            guard try LabList.fetchOne(db, key: list) != nil else { throw Self.missing("list", list) }
            try item.insert(db)
        }
        return item
    }

    func change(_ item: UUID, _ edit: ItemEdit) async throws {
        try await store.write { db in
            guard var changed = try LabItem.fetchOne(db, key: item) else { throw Self.missing("to-do", item) }
            edit.apply(to: &changed)
            try changed.update(db)
        }
    }

    func delete(_ item: UUID) async throws {
        try await store.write { db in
            guard try LabItem.deleteOne(db, key: item) else { throw Self.missing("to-do", item) }
        }
    }

    func createSpace(named name: String) async throws -> Space {
        try await store.createSpace(named: name, as: identity.person)
    }

    /// Makes a link for one person.
    func invite(to space: UUID, as role: SpaceRole) async throws -> InvitationLink {
        let name = try await store.read { try Space.filter(Column("id") == space).fetchOne($0)?.name }
        let invitation = try await store.invite(to: space, as: role, label: name ?? "A list")
        guard let link = invitation.link else { throw Self.missing("invitation", invitation.id) }
        return link
    }

    /// - Throws: `OptimistError` with code `badLabRequest` if the text is not the code of a link.
    func accept(code: String) async throws -> Space {
        guard let link = InvitationLink(code: code.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw OptimistError(.badLabRequest, "This is not a link. Copy the whole link from the other device.")
        }
        return try await store.accept(link, as: identity.person).space
    }

    private static func missing(_ what: String, _ id: UUID) -> OptimistError {
        OptimistError(.notInLab, "The \(what) \(id.uuidString.lowercased()) does not exist on this device.")
    }
}
