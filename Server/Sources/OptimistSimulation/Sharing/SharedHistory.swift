// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// Every write of the people, found by comparing tables, and everything that the server ever stored.
struct SharedHistory {
    struct Write {
        let device: Int
        var person = ""
        /// Milliseconds of true time.
        let at: Int64
        /// The texts, by row. Every text belongs to one write.
        var texts: [RowName: String] = [:]
        var points: [RowName: Int64] = [:]
        var inserted: Set<RowName> = []
        /// The space of each written root, in hexadecimal digits.
        var places: [RowName: String?] = [:]
        var deleted: Set<RowName> = []
        var outcome = Outcome.unknown
        /// Whether the device was restored to a file from before this write.
        var isForgotten = false
        /// Whether the role that the device knew forbids the write.
        var isForbidden = false

        /// Whether the write changed no value.
        var isEmpty: Bool {
            texts.isEmpty && points.isEmpty && inserted.isEmpty && places.isEmpty && deleted.isEmpty
        }

        init(_ device: Int, at: Int64) {
            self.device = device
            self.at = at
        }

        init(_ device: Int, at: Int64, _ before: SharedRows, _ after: SharedRows) {
            self.init(device, at: at)
            deleted = Set(before.rows.keys).subtracting(after.rows.keys)
            for (name, values) in after.rows {
                let old = before.rows[name]
                if old == nil { inserted.insert(name) }
                if let column = SharedTables.texts[name.table], let text = values[column] ?? nil,
                    text != old?[column] ?? nil
                {
                    texts[name] = text
                }
                if SharedTables.roots.contains(name.table), old == nil || old?["space"] != values["space"] {
                    places[name] = .some(values["space"] ?? nil)
                }
                let added = (after.points[name] ?? 0) - (before.points[name] ?? 0)
                if added != 0 { points[name] = added }
            }
        }
    }

    enum Outcome: Hashable { case unknown, failed, returned }

    private(set) var writes: [Write] = []
    private(set) var byRow: [RowName: [Int]] = [:]
    /// Every text that the server ever stored, by row.
    private(set) var stored: [RowName: Set<String>] = [:]
    /// Every row that a stored row ever was below, by row.
    private(set) var parents: [RowName: Set<RowName>] = [:]
    private(set) var accounts: [String: SharedAccount] = [:]
    /// The rows of spaces that have ended, also if a restored server has such a space again.
    private(set) var ended: Set<RowName> = []
    /// The spaces that a person has left or deleted.
    private var left: Set<String> = []
    /// The account that last had each row.
    private var lastHomes: [RowName: String] = [:]
    /// The last life that any server had of each row, and its account.
    private var latest: [RowName: (generation: Int, account: String)] = [:]
    private(set) var hasGoneBack = false
    private(set) var hasRestoredDevice = false
    var hasForgotten = false

    mutating func attempt(_ write: Write) -> Int {
        writes.append(write)
        let names = write.inserted.union(write.texts.keys).union(write.points.keys).union(write.places.keys)
            .union(write.deleted)
        for name in names { byRow[name, default: []].append(writes.count - 1) }
        return writes.count - 1
    }

    mutating func ended(_ number: Int, _ outcome: Outcome) { writes[number].outcome = outcome }

    mutating func forgive(device: Int, since number: Int) {
        hasRestoredDevice = true
        for index in writes.indices where writes[index].device == device && index >= number {
            writes[index].isForgotten = true
        }
    }

    func writes(of row: RowName) -> [(number: Int, write: Write)] { (byRow[row] ?? []).map { ($0, writes[$0]) } }

    /// Whether a deletion took the row: its own, or one of a row above it, which the server carries out below that row.
    func isDeleted(_ name: RowName, by deleted: Set<RowName>) -> Bool {
        deleted.contains(name) || (parents[name] ?? []).contains { isDeleted($0, by: deleted) }
    }

    // MARK: - The server

    var seqs: [String: Int64] { accounts.mapValues(\.seq) }

    mutating func serve(_ news: [AccountNews]) throws {
        for part in news {
            var account = accounts[part.account] ?? SharedAccount(id: part.account)
            try account.apply(part)
            accounts[part.account] = account
            if account.space != nil, account.roles.isEmpty { ended.formUnion(account.generations.keys) }
            for (name, values) in account.living {
                lastHomes[name] = account.id
                if let generation = account.generations[name], generation > latest[name]?.generation ?? 0 {
                    latest[name] = (generation, account.id)
                }
                if let up = SharedTables.references[name.table]?.first, let id = values[up.column] ?? nil {
                    parents[name, default: []].insert(RowName(table: up.table, id: id))
                }
                guard let column = SharedTables.texts[name.table], let text = values[column] ?? nil else { continue }
                stored[name, default: []].insert(text)
            }
        }
    }

    mutating func goBack(to news: [AccountNews]) throws {
        (hasGoneBack, accounts) = (true, [:])
        try serve(news)
    }

    mutating func leave(_ space: String) { left.insert(space) }

    /// Whether the row was last in a space that a person has left and the restored server does not have.
    func isInForgottenSpace(_ name: RowName) -> Bool {
        guard hasGoneBack, let home = lastHomes[name], accounts[home]?.roles.isEmpty ?? true else { return false }
        return SharedAccount(id: home).space.map(left.contains) ?? false
    }

    /// Whether the row lives only where it was before a move that a restored server has lost. A deletion that followed
    /// the move did not end it there (P12).
    func isEarlierStay(_ name: RowName, in homes: [SharedAccount]) -> Bool {
        guard hasGoneBack, let latest = latest[name] else { return false }
        return homes.allSatisfy { $0.id != latest.account && $0.generations[name] ?? 0 < latest.generation }
    }

    /// The accounts where a row lives.
    func homes(of name: RowName) -> [SharedAccount] {
        accounts.values.filter { $0.living[name] != nil }.sorted { $0.id < $1.id }
    }

    /// Whether the row was ever in an account where the person may not write. The person's moves and deletions cannot
    /// follow it there, and do not come back with it.
    func hasBeenAway(_ name: RowName, from person: String) -> Bool {
        accounts.values.contains { $0.generations[name] != nil && !$0.mayWrite(person) }
    }

    /// The rows that a person's devices must show: the own rows, and the rows of the used spaces with the person as a member.
    func visible(to person: String) -> [SharedAccount] {
        guard let own = accounts[person] else { return [] }
        let spaces = accounts.values.filter {
            $0.space.map(own.used.contains) == true && $0.roles[person] != nil
        }
        return [own] + spaces.sorted { $0.id < $1.id }
    }
}
