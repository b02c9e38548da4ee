// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Finds the secrets of spaces in answers.
struct AttackJudge {
    /// Texts of the spaces and of other people.
    let secrets: [String]
    /// The texts that a member of ``AttackedSpace/home`` does not get either.
    let secretsFromMembers: [String]

    init(_ scene: AttackScene) throws {
        var secrets = AttackedSpace.marks + [scene.session]
        secrets += scene.people.values.map(\.account)
        secrets += [AttackedSpace.home, .club, .bare].flatMap { [$0.space, $0.account] }
        secrets += AttackedSpace.types.map { AttackedSpace.row($0) } + Ticket.invited.map(\.row)
        secrets += [AttackedSpace.ownerRow, RowKey.list(2).id] + AttackedSpace.formerRows
        secrets += Ticket.invited.flatMap { ticket in
            let secret = ServedSpace.secret(ticket.rawValue)
            return [secret.text, secret.hash]
        }
        self.secrets = secrets
        secretsFromMembers =
            [scene.session, "@example.org"] + scene.people.values.map(\.account)
            + [AttackedSpace.club, .bare].flatMap { [$0.space, $0.account] }
            + Ticket.invited.map { ServedSpace.secret($0.rawValue).text }
    }

    /// The secrets in an answer. An id that the sender wrote is not a secret.
    func leaks(
        in answer: HTTPSide.Answer, to request: String, of sender: Person? = nil, isMember: Bool = false
    ) -> [String] {
        let text = String(decoding: answer.body, as: UTF8.self) + Self.fields(of: answer).joined()
        return (isMember ? secretsFromMembers : secrets).filter { secret in
            text.contains(secret) && !request.contains(secret) && secret != sender?.account
        }
    }

    private static func fields(of answer: HTTPSide.Answer) -> [String] {
        answer.headers.fields.filter { !["date", "x-request-id"].contains($0.key) }.map { "\($0.key): \($0.value)" }
            .sorted()
    }

    /// An answer in a form that is the same for two spaces if it gives away nothing about them.
    static func plain(
        _ answer: HTTPSide.Answer, about space: AttackedSpace, _ row: String, _ epoch: String
    ) -> String {
        var text = "\(answer.status) \(fields(of: answer)) \(String(decoding: answer.body, as: UTF8.self))"
        for (id, name) in [(space.account, "ACCOUNT"), (space.space, "SPACE"), (row, "ROW")] {
            text = text.replacing(id, with: name)
        }
        // Own writes raise the state of the sender's account.
        for mark in ["\(epoch).", "\"@seq\":"] { text = text.withoutNumbers(after: mark) }
        return text.replacing(/content-length: [^,]*/, with: "")
    }
}

extension String {
    /// Drops the numbers after each occurrence of a text, unless they are as long as the seqs of an attacked space.
    fileprivate func withoutNumbers(after mark: String) -> String {
        let parts = components(separatedBy: mark)
        let rest = parts.dropFirst().map { part in
            let digits = part.prefix(while: \.isNumber)
            return digits.count > 6 ? part : String(part.dropFirst(digits.count))
        }
        return ([parts[0]] + rest).joined(separator: mark)
    }
}
