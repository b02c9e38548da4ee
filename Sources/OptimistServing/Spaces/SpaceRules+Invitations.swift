// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

extension SpaceRules {
    /// The default and the latest end of an invitation, in days from now.
    private static let usualDays = 7
    private static let mostDays = 366

    func objectionToInvitation(_ write: Write) -> SetError? {
        guard write.operation.key.type == types.invitation, let values = write.operation.values else { return nil }
        if let hash = values["hash"], hash.string?.utf8.count != 43 {
            return SetError(
                "invalidProperties", "The column \"hash\" must be the SHA-256 hash of the secret.",
                properties: ["hash"])
        }
        let end = values[SpaceTypes.endsAt]?.string.flatMap(Date.init(utc:))
        guard let end, end > write.now.adding(days: Self.mostDays) else { return nil }
        return SetError(
            "invalidProperties", "An invitation ends at most \(Self.mostDays) days from now.",
            properties: [SpaceTypes.endsAt])
    }

    /// Why a person without a valid ticket may not write. There is one answer for a wrong, used, ended or revoked
    /// ticket, and for a space that does not exist. Other rows wait for the member row.
    func objectionToUninvited(_ write: Write) -> SetError {
        guard write.operation.key.type == types.member else { return .notEntered(write.members) }
        if case .destroy = write.operation.action { return SetError("notFound", "The row does not exist.") }
        return SetError("invitationInvalid", "The invitation does not exist, or is not valid any more.")
    }

    /// The columns that the server decides, in a row after its merge.
    ///
    /// - Parameters:
    ///   - stored: The row before the push.
    ///   - isOwn: Whether it is the sender's member row.
    func decided(
        _ row: MergeRow, of type: String, stored: MergeRow?, isOwn: Bool, _ access: Access, at now: Date
    ) -> [String: JSON] {
        if type == types.member, isOwn, case .joining(let invitation) = access {
            return [SpaceTypes.role: .string(invitation.role.rawValue)]
        }
        guard type == types.invitation else { return [:] }
        func isNull(_ column: String) -> Bool { row.cells[column]?.value.isNull ?? true }
        var values = [SpaceTypes.used: stored?.cells[SpaceTypes.used]?.value ?? .int(0)]
        if isNull(SpaceTypes.uses) { values[SpaceTypes.uses] = .int(1) }
        if isNull(SpaceTypes.endsAt) {
            values[SpaceTypes.endsAt] = .string(now.adding(days: Self.usualDays).formatted(.iso8601))
        }
        return values
    }
}

extension SetError {
    /// The error of a row in a space that does not exist, or that its sender has not joined.
    static func notEntered(_ members: [RowKey]) -> SetError {
        SetError(
            "blocked", "The space does not exist yet, or its member row was refused.",
            blockedBy: Set(members.map(\.description)).sorted())
    }
}

extension Date {
    fileprivate func adding(days: Int) -> Date { addingTimeInterval(Double(days) * 86_400) }
}
