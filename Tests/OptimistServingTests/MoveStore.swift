// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// The server's decisions about the rows of one person in several accounts, without the protocol.
struct MoveStore {
    /// The person's own account, and three spaces.
    enum Place: Int, CaseIterable {
        case own, a, b, c

        var space: JSON { self == .own ? .null : .string(RowKey.id(0xA0 + rawValue)) }
        var account: String { space.string.flatMap(SpaceAccount.id(ofSpace:)) ?? "ann" }
        init?(account: String) {
            guard let place = Self.allCases.first(where: { $0.account == account }) else { return nil }
            self = place
        }
    }

    static let milliseconds: Int64 = 1_800_000_000_000
    var schema = MoveStore.schema
    /// The person's roles in the spaces. Default: owner.
    var roles: [Place: Role] = [:]
    private var accounts = Place.allCases.map { _ in InMemoryAccount() }
    private var clock = HybridClock()

    static let schema: Schema = {
        var list = TypeSchema(columns: [
            "name": ColumnSchema(.string), "likes": ColumnSchema(.counter), "space": ColumnSchema(.ref),
        ])
        list.space = .own("space")
        var todo = TypeSchema(columns: [
            "content": ColumnSchema(.string), "list": ColumnSchema(.ref, target: "List", onDelete: .cascade),
        ])
        todo.space = .of("list")
        return SpaceTypes().added(to: Schema(id: "lists", types: ["List": list, "Todo": todo]))
    }()

    // MARK: - Pushes

    mutating func push(
        _ operations: [(RowOperation, Place)], groups: [[RowKey]] = [], device: String? = "deviceAA"
    ) throws -> SetEvaluation {
        let transactions = Place.allCases.map { transaction(of: $0) }
        let placed = operations.map { operation, place in
            var operation = operation
            operation.book = place.rawValue
            return operation
        }
        let context = SetEvaluation.Context(schema: schema, writer: .person("ann"), device: device)
        let evaluation = try SetEvaluation(
            placed, groups: groups, in: context, over: transactions.map { SetEvaluation.Book($0, in: context) },
            clock: ServerClock(hybrid: clock, milliseconds: Self.milliseconds))
        evaluation.clock.hand(to: &clock)
        for (place, changes) in zip(Place.allCases, evaluation.changes) where !changes.isEmpty {
            try append(changes, to: place, transactions[place.rawValue])
        }
        return evaluation
    }

    private func transaction(of place: Place) -> InMemoryTransaction {
        let membership = Membership(
            person: "ann", memberID: RowKey.id(1), role: roles[place] ?? .owner, joinedSeq: 1)
        return InMemoryTransaction(
            accounts[place.rawValue], of: place.account, as: .person("ann"), place == .own ? .own : .member(membership),
            epochs: ["e"])
    }

    private mutating func append(_ changes: [RowChange], to place: Place, _ transaction: InMemoryTransaction) throws {
        let seq = try transaction.append(changes, day: 0)
        accounts[place.rawValue] = transaction.contents
        // A database keeps every part of a row.
        for change in changes {
            let stored = StoredRow(change, seq: seq, ordinal: 0)
            let read = try #require(
                StoredRow(
                    content: stored.content(id: change.key.id), hidden: stored.hidden, seq: seq, ordinal: 0,
                    bornSeq: stored.bornSeq))
            #expect(read.row == stored.row && read.memory == stored.memory)
        }
    }

    /// Stores a row as it is.
    mutating func put(_ row: MergeRow, _ memory: RowMemory = RowMemory(), _ key: RowKey, in place: Place) throws {
        let type = try #require(schema.types[key.type])
        let change = RowChange(
            key: key, row: row, memory: memory, bornSeq: nil, droppedEntries: [],
            addedEntries: type.indexEntries(of: row))
        try append([change], to: place, transaction(of: place))
    }

    // MARK: - Rows

    subscript(key: RowKey, place: Place) -> StoredRow? { accounts[place.rawValue].rows[key.type]?[key.id] }

    func value(_ key: RowKey, _ column: String, in place: Place) -> JSON? { self[key, place]?.row.cells[column]?.value }

    /// The places where a row is alive.
    func places(of key: RowKey) -> [Place] { Place.allCases.filter { self[key, $0]?.row.isAlive == true } }
}

extension RowOperation {
    /// A move of a row. Its values have one clock.
    static func copy(
        _ key: RowKey, from source: MoveStore.Place, _ values: JSONObject = [:], at time: Int64 = 0, life: Int = 1,
        since first: Int? = nil, isWhole: Bool = false
    ) -> Self {
        var patch = RowPatch(generation: life, clocks: ColumnClocks(common: .at(time)), values: values)
        patch.firstLife = first
        var operation = RowOperation(key: key, action: isWhole ? .create(patch) : .update(patch))
        operation.source = source.rawValue
        return operation
    }
}
