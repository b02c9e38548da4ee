// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// Which rows can be in an account, and who may write them.
struct SpaceRules {
    let schema: Schema
    var types = SpaceTypes()

    /// Whether the schema lets rows be in spaces. Otherwise there are only own accounts, and no rule applies.
    var areNeeded: Bool { schema.types[types.member] != nil }

    /// A write to one row, and the facts that decide whether it is allowed.
    struct Write {
        var operation: RowOperation
        var account: String
        var access: Access
        /// For a stored member row: the member whose row it is.
        var owner: String?
        /// For a member row: the generation of the stored row.
        var generation = 0
        var person: String?
        /// The push's member rows in the account.
        var members: [RowKey] = []
        /// By the server's clock.
        var now: Date
    }

    /// Why a write is refused before it is merged. Nil: it is allowed.
    func objection(to write: Write) -> SetError? {
        switch write.access {
        case .operator: nil
        case .own: objection(in: nil, to: write.operation)
        case .uninvited: objectionToUninvited(write)
        case .visitor: forbidden("Only members may change a public space.")
        case .service:
            objectionToService(write) ?? objection(in: SpaceAccount.space(of: write.account), to: write.operation)
        case .founding, .joining, .member:
            objection(in: SpaceAccount.space(of: write.account), to: write.operation) ?? objectionToRole(write)
                ?? objectionToInvitation(write)
        }
    }

    // MARK: - Which rows

    /// - Parameter space: Nil for a person's own account.
    private func objection(in space: String?, to operation: RowOperation) -> SetError? {
        let type = operation.key.type
        guard let rule = schema.types[type]?.space else {
            if space == nil { return nil }
            return SetError("crossesSpaces", "Rows of \"\(type)\" cannot be in a space.")
        }
        if space == nil, type == types.member || type == types.invitation {
            return SetError("crossesSpaces", "Rows of \"\(type)\" can only be in a space.")
        }
        guard case .own(let column) = rule, let values = operation.values else { return nil }
        let present = space.map(JSON.string) ?? .null
        let value = values[column] ?? (operation.isCreate ? .null : present)
        if value == present { return nil }
        return SetError(
            "crossesSpaces", "The column \"\(column)\" must name the space of the row's account.",
            properties: [column])
    }

    // MARK: - Moves

    /// Why a row may not move. Nil: it may. The sender must be allowed to write in both accounts.
    func objection(toMoveFrom source: Write, to destination: Write) -> SetError? {
        let type = source.operation.key.type
        if [types.space, types.member, types.invitation].contains(type) {
            return SetError("crossesSpaces", "Rows of \"\(type)\" stay in their account.")
        }
        return objectionToRole(source) ?? objection(to: destination)
    }

    /// Whether the column that decides a row's account names this account.
    func isAtHome(_ row: MergeRow, _ type: TypeSchema, in account: String, _ access: Access) -> Bool {
        guard areNeeded, access != .operator, let rule = type.space else { return true }
        let (value, space) = (row.cells[rule.column]?.value ?? .null, SpaceAccount.space(of: account))
        return switch rule {
        case .own: value == space.map(JSON.string) ?? .null
        case .of: space == nil || !value.isNull
        }
    }

    // MARK: - Who

    private func objectionToService(_ write: Write) -> SetError? {
        if write.access.role == .reader { return forbidden("The service key allows only reading.") }
        let isOfMembers = [types.member, types.invitation].contains(write.operation.key.type)
        return isOfMembers ? forbidden("A service key may not change the members of a space.") : nil
    }

    private func objectionToRole(_ write: Write) -> SetError? {
        let role = write.access.role
        switch write.operation.key.type {
        case types.member: return role == .owner ? objectionToLife(write) : objectionToMember(write)
        case types.invitation: return role == .owner ? nil : forbidden("Only an owner may invite.")
        default: return role == .reader ? forbidden("A reader may not change the rows of a space.") : nil
        }
    }

    /// A member row has one life: a person who joins again makes a new row.
    private func objectionToLife(_ write: Write) -> SetError? {
        guard let patch = write.operation.patch else { return nil }
        let life = patch.generation ?? (write.generation.isMultiple(of: 2) ? write.generation + 1 : write.generation)
        return life > 1 ? forbidden("A member row that was deleted stays deleted.") : nil
    }

    private func objectionToMember(_ write: Write) -> SetError? {
        if let objection = objectionToLife(write) { return objection }
        let isOwn = write.owner == write.person
        switch write.operation.action {
        case .create where isOwn || write.owner == nil: return nil
        case .update(let patch) where isOwn:
            return patch.values[SpaceTypes.role] == nil ? nil : forbidden("Only an owner may change a role.")
        case .destroy where isOwn: return nil
        case .create, .update, .destroy: return forbidden("Only an owner may change the rows of other members.")
        }
    }

    private func forbidden(_ why: String) -> SetError { SetError("roleForbids", why) }

    // MARK: - Member rows

    /// If a member creates another member row of their own, returns the operation without its role, because joining
    /// again changes no role.
    func withoutOwnRole(_ operation: RowOperation, of access: Access) -> RowOperation {
        guard operation.key.type == types.member, let membership = access.membership,
            membership.role != .owner || membership.memberID != operation.key.id,
            case .create(var patch) = operation.action
        else { return operation }
        var operation = operation
        patch.values[SpaceTypes.role] = nil
        operation.action = .create(patch)
        return operation
    }
}

extension RowOperation {
    fileprivate var isCreate: Bool { if case .create = action { true } else { false } }

    fileprivate var patch: RowPatch? {
        switch action {
        case .create(let patch), .update(let patch): patch
        case .destroy: nil
        }
    }
}
