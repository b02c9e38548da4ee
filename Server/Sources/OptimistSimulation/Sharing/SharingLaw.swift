// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// The rules that hold at the server after every transaction, and at the end. They share no logic with the engine.
struct SharingLaw {
    let history: SharedHistory

    init(_ history: SharedHistory) { self.history = history }

    // MARK: - Each transaction

    func findings(on news: [AccountNews], after before: SharedHistory, at now: Date) -> [String] {
        var findings: [String] = []
        for part in news {
            guard let account = history.accounts[part.account] else { continue }
            let changed = part.rows.map { RowName(table: $0.table, id: $0.id.replacing("-", with: "")) }
            if !history.hasGoneBack { findings += changed.compactMap(inTwoPlaces) }
            findings += strays(in: account)
            findings += entries(into: account, from: before.accounts[part.account], at: now)
            if !account.roles.isEmpty, !account.roles.values.contains("owner") {
                findings.append("owner: \(account.id) has members and no owner (P10)")
            }
            findings += account.invitations.filter { $0.value.used > $0.value.uses }.map { id, invitation in
                "ticket: \(id) admitted \(invitation.used) of \(invitation.uses) persons (P9)"
            }
        }
        return findings
    }

    private func inTwoPlaces(_ name: RowName) -> String? {
        let homes = history.homes(of: name)
        if homes.count < 2 { return nil }
        return "two places: \(name) lives in \(homes.map(\.id).joined(separator: " and ")) (P2)"
    }

    /// Rows with a parent that does not live in the same account.
    private func strays(in account: SharedAccount) -> [String] {
        account.living.flatMap { name, values in
            (SharedTables.references[name.table] ?? []).compactMap { column, table in
                guard let id = values[column] ?? nil, account.living[RowName(table: table, id: id)] == nil else {
                    return nil
                }
                return "whole: \(name) lives in \(account.id), and its \(column) does not (P3)"
            }
        }
            + account.living.compactMap { name, values in
                guard SharedTables.roots.contains(name.table), (values["space"] ?? nil) != account.space else {
                    return nil
                }
                return "whole: \(name) lives in \(account.id), and names \((values["space"] ?? nil) ?? "no space") (P3)"
            }
    }

    /// Persons who became members without an open invitation.
    private func entries(into account: SharedAccount, from before: SharedAccount?, at now: Date) -> [String] {
        guard account.space != nil, let before, !before.history.isEmpty, !history.hasGoneBack else { return [] }
        return account.roles.keys.filter { before.roles[$0] == nil }.sorted().compactMap { person in
            let removed = before.members.first { $0.person == person && $0.reason == "removed" }?.endedSeq ?? 0
            let role = account.roles[person]
            let admits = before.invitations.contains { id, invitation in
                invitation.used < invitation.uses && invitation.role == role
                    && (Date(optimistText: invitation.endsAt).map { $0.addingTimeInterval(1) >= now } ?? true)
                    && (before.firstSeen[id] ?? 0) > removed
            }
            return admits ? nil : "ticket: \(person) entered \(account.id) as \(role ?? "?") without an invitation (P9)"
        }
    }
}

extension Date {
    /// Reads a date to the second.
    fileprivate init?(optimistText text: String) {
        guard let date = try? Date(String(text.prefix(19)) + "Z", strategy: .iso8601) else { return nil }
        self = date
    }
}
