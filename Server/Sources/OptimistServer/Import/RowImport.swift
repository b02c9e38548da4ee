// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire
import Synchronization

extension OptimistError.Code {
    /// Rows cannot be imported as they were ordered.
    package static let badImport = Self("import.bad")
}

/// Stores batches of rows for `optimist import`, in the server's process or in the command's.
package final class RowImport: Sendable {
    private let service: JMAPService
    private let accounts: any AccountStore
    private let announce: @Sendable (JMAPService.AccountChange) -> Void
    private let known = Mutex(KnownAccounts())

    init(
        service: JMAPService, accounts: any AccountStore,
        announce: @escaping @Sendable (JMAPService.AccountChange) -> Void
    ) {
        self.service = service
        self.accounts = accounts
        self.announce = announce
    }

    /// Imports into data that no server of this process has opened.
    ///
    /// - Parameter schema: The schema that the data was last served with.
    package convenience init(
        into storage: OpenedStorage, schema: Schema, dependencies: Dependencies = Dependencies()
    ) {
        let pokes = Pokes(channel: storage.channel)
        self.init(
            service: JMAPService(
                store: storage.rows,
                settings: ServingSettings(
                    schema: schema, makeRowID: { dependencies.makeID().uuidString.lowercased() }),
                now: dependencies.now),
            accounts: storage.accounts,
            announce: { pokes.announce(.changed(account: $0.account, types: $0.types, state: $0.state)) })
    }

    /// The most rows of a transaction. Meanwhile devices of its accounts wait, and in a data directory all devices.
    private static let maxRows = 4_000
    /// How many transactions run at the same time, in different accounts.
    private static let lanes = 3

    /// Stores the rows of a batch, or only checks them. The rows of an account are stored together, in the order of
    /// their lines, because each account in a transaction costs as much as many rows.
    ///
    /// - Throws: `OptimistError` with code `import.bad` if the schema does not have the type, or the store's error. Some
    ///   transactions may then be stored.
    package func carryOut(_ batch: ImportBatch) async throws -> ImportReport {
        let schema = service.schema
        let types = Set(schema.types.keys).subtracting(SpaceTypes().all)
        guard types.contains(batch.type), let definition = schema.types[batch.type] else {
            throw OptimistError(
                .badImport,
                "The schema does not have the type \"\(batch.type)\". Its types are: "
                    + "\(types.sorted().joined(separator: ", ")).")
        }
        let line = ImportLine(batch: batch, definition: definition)
        var report = ImportReport()
        var read: [ImportLine.Row] = []
        read.reserveCapacity(batch.lines.count)
        for text in batch.lines {
            do throws(ImportBatch.Fault) { read.append(try line.row(text)) } catch {
                report.refused.append(.init(line: text.number, code: error.code, message: error.message))
            }
        }
        let found = try await find(Set(read.map(\.accountKey)), batch)
        var accounts = ImportedAccounts()
        for row in read {
            guard let account = found[row.accountKey] else {
                report.refused.append(.init(line: row.line, code: "accountNotFound", message: batch.noAccount))
                continue
            }
            accounts.add(.init(id: line.id(of: row, in: account), values: row.values), ofLine: row.line, to: account)
        }
        try await withThrowingTaskGroup(of: ImportReport.self) { tasks in
            for lane in accounts.lanes(Self.lanes, of: Self.maxRows) {
                tasks.addTask {
                    var stored = ImportReport()
                    for transaction in lane { try await self.store(transaction, batch, &stored) }
                    return stored
                }
            }
            for try await stored in tasks {
                report.refused += stored.refused
                report.add(stored)
            }
        }
        report.refused.sort { $0.line < $1.line }
        return report
    }

    private func store(
        _ transaction: [ImportedAccounts.Part], _ batch: ImportBatch, _ report: inout ImportReport
    ) async throws {
        let outcome = try await service.carryOut(
            RowsToImport(
                type: batch.type,
                rows: Dictionary(uniqueKeysWithValues: transaction.map { ($0.account, Array($0.rows)) }),
                milliseconds: batch.milliseconds, isDryRun: batch.isDryRun))
        for change in outcome.changes { announce(change) }
        for part in transaction {
            for (number, verdict) in zip(part.lines, outcome.verdicts[part.account] ?? []) {
                report.add(verdict, ofLine: number, isDryRun: batch.isDryRun)
            }
        }
    }

    // MARK: - Accounts

    /// The accounts that the present run has found, by key.
    private struct KnownAccounts {
        var run = ""
        var accounts: [String: String] = [:]

        static let limit = 200_000
    }

    private func find(_ keys: Set<String>, _ batch: ImportBatch) async throws -> [String: String] {
        if batch.accountKey == .column {
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, ImportBatch.account(inColumn: $0)) })
        }
        var found = known.withLock { known in
            if known.run != batch.run || known.accounts.count > KnownAccounts.limit {
                known = KnownAccounts(run: batch.run)
            }
            return known.accounts.filter { keys.contains($0.key) }
        }
        for key in keys where found[key] == nil { found[key] = try await account(key, batch)?.id }
        known.withLock { known in
            // If another import has begun since the lookup, the cache is for its keys.
            if known.run == batch.run { known.accounts.merge(found) { $1 } }
        }
        return found
    }

    private func account(_ key: String, _ batch: ImportBatch) async throws -> StoredAccount? {
        if let issuer = batch.issuer {
            return try await accounts.account(of: ProviderIdentity(issuer: issuer, subject: key))
        }
        guard let address = EmailAddress(key) else { return nil }
        return try await accounts.account(email: address.text)
    }
}

/// The rows of a batch, by account, in the order of the lines.
private struct ImportedAccounts {
    /// Some rows of one account, and their lines.
    struct Part: Sendable {
        var account: String
        var rows: ArraySlice<RowsToImport.Row>
        var lines: ArraySlice<Int>
    }

    private var places: [String: Int] = [:]
    private var accounts: [Part] = []

    mutating func add(_ row: RowsToImport.Row, ofLine line: Int, to account: String) {
        let place = places[account] ?? accounts.count
        if place == accounts.count {
            places[account] = place
            accounts.append(Part(account: account, rows: [], lines: []))
        }
        accounts[place].rows.append(row)
        accounts[place].lines.append(line)
    }

    /// The transactions of each lane, in order. All rows of an account are in one lane.
    func lanes(_ count: Int, of limit: Int) -> [[[Part]]] {
        (0..<count).map { lane in
            let own = accounts.indices.filter { $0 % count == lane }.map { accounts[$0] }
            return Self.transactions(of: own, limit)
        }
    }

    /// Parts with `limit` rows in all, at most. A transaction has one part of an account.
    private static func transactions(of accounts: [Part], _ limit: Int) -> [[Part]] {
        var transactions: [[Part]] = []
        var room = 0
        for account in accounts {
            var rest = account
            while !rest.rows.isEmpty {
                let isSplit = rest.rows.count < account.rows.count
                if room == 0 || isSplit {
                    transactions.append([])
                    room = limit
                }
                let count = min(room, rest.rows.count)
                transactions[transactions.count - 1].append(
                    Part(account: account.account, rows: rest.rows.prefix(count), lines: rest.lines.prefix(count)))
                room -= count
                rest.rows.removeFirst(count)
                rest.lines.removeFirst(count)
            }
        }
        return transactions
    }
}

extension ImportBatch {
    fileprivate var noAccount: String {
        switch accountKey {
        case .email: "No account has the email address in \"\(accountColumn)\"."
        case .identity: "No account has the identity in \"\(accountColumn)\"."
        case .column: "The account does not exist."
        }
    }
}

extension ImportReport {
    fileprivate mutating func add(_ verdict: ImportVerdict, ofLine line: Int, isDryRun: Bool) {
        switch verdict {
        case .written: written += 1
        case .unchanged: unchanged += 1
        case .gone: gone += 1
        // A dry run stores no row, so that rows of earlier lines are missing, too.
        case .refused("blocked", _) where isDryRun: waiting += 1
        case .refused(let code, let message):
            refused.append(Refusal(line: line, code: code, message: message))
        }
    }

    /// Adds the effect of a later batch.
    package mutating func add(_ later: ImportReport) {
        written += later.written
        unchanged += later.unchanged
        gone += later.gone
        waiting += later.waiting
    }
}
