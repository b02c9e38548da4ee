// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// An account at the server: a person's own, or a space. The judges read it from the server's tables.
struct SharedAccount {
    let id: String
    var seq: Int64 = 0
    /// The values of the app's living rows.
    private(set) var living: [RowName: Values] = [:]
    private(set) var clocks: [RowName: ColumnClocks] = [:]
    /// The living invitations, by id.
    private(set) var invitations: [String: Invitation] = [:]
    /// The transaction that first stored each invitation.
    private(set) var firstSeen: [String: Int64] = [:]
    /// The spaces that a person uses, if the account is the person's own.
    private(set) var used: Set<String> = []
    private(set) var members: [AccountNews.Member] = []
    /// The roles by person after each transaction that changed them.
    private(set) var history: [(seq: Int64, roles: [String: String])] = []
    /// The tables and ids of all rows, living or deleted, and their generations.
    private(set) var generations: [RowName: Int] = [:]

    struct Invitation: Hashable {
        var role: String
        var uses: Int64
        var used: Int64
        /// As the server stores it.
        var endsAt: String
    }

    init(id: String) { self.id = id }

    /// The id of the space, in hexadecimal digits. Nil for a person's own account.
    var space: String? { SpaceAccount.space(of: id).map { $0.replacing("-", with: "") } }

    /// The roles of the members.
    var roles: [String: String] {
        Dictionary(members.filter { $0.endedSeq == nil }.map { ($0.person, $0.role) }, uniquingKeysWith: { $1 })
    }

    func mayWrite(_ person: String) -> Bool { id == person || ["owner", "writer"].contains(roles[person]) }

    /// The roles that a person had at any time between two transactions. Empty: the person was not a member.
    func roles(of person: String, from first: Int64, to last: Int64) -> Set<String> {
        let before = history.last { $0.seq <= first }
        let later = history.filter { $0.seq > first && $0.seq <= last }
        return Set(([before].compactMap(\.self) + later).compactMap { $0.roles[person] })
    }

    mutating func apply(_ news: AccountNews) throws {
        for row in news.rows { try apply(row) }
        seq = news.seq
        members = news.members
        if history.last?.roles != roles { history.append((seq, roles)) }
    }

    private mutating func apply(_ row: StoredVersion) throws {
        let name = RowName(table: row.table, id: row.id.replacing("-", with: ""))
        let isAlive = row.generation % 2 == 1
        generations[name] = row.generation
        let json = try JSON(parsing: row.content)
        switch row.table {
        case "optimist_space":
            if isAlive { used.insert(name.id) } else { used.remove(name.id) }
        case "optimist_invitation":
            if firstSeen[name.id] == nil { firstSeen[name.id] = row.seq }
            invitations[name.id] = isAlive ? Invitation(json) : nil
        case "optimist_member": break
        default:
            clocks[name] = isAlive ? json["@hlc"].flatMap(ColumnClocks.init) : nil
            let columns = SharedTables.columns(of: row.table)
            living[name] = isAlive ? Values(columns.map { ($0, Rows.text(json[$0])) }) { $1 } : nil
        }
    }
}

extension SharedAccount.Invitation {
    fileprivate init(_ json: JSON) {
        self.init(
            role: json["role"]?.string ?? "", uses: json["uses"]?.int ?? 0, used: json["used"]?.int ?? 0,
            endsAt: json["endsAt"]?.string ?? "")
    }
}
