// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

@testable import Optimist

extension MoveModel {
    /// The users' writes, and the edits that ended with their row.
    struct Log {
        let spaces = 3
        var time = 0
        /// Whether each row is a list.
        var rows: [Bool] = []
        var homes: [Int: Cell] = [:]
        var titles: [Int: Cell] = [:]
        var counts: [Int: Int] = [:]
        var deleted: Set<Int> = []
        /// Deleted on a device that lacks a space. It also deletes its new to-dos when their list moves there.
        var perhapsDeleted: Set<Int> = []
        /// Edits that ended with their row.
        var dropped: [(device: Int, row: Int)] = []
        /// The place that keeps the last dropped edit of a row.
        var kept: [Int: String] = [:]
    }

    /// A difference that remains when a world is quiet.
    enum Difference: String, CaseIterable {
        /// A device cannot send a change.
        case pending
        /// A row is in two spaces.
        case twice
        /// A row is not where its list is.
        case unsound
        /// A device shows another row than the server has.
        case shown
        /// A device dropped an edit of a row that is alive.
        case dropped
        /// A deleted row is alive.
        case revived
        /// An earlier value or move won.
        case outdated
        case miscounted
        /// A row that no user deleted has ended.
        case lost
        /// A device moved a row that no user moved.
        case implied
    }

    /// Users on three or four devices write, move and delete rows in three spaces. Pages are cut, answers are lost or
    /// late, and pushes arrive twice. The seed decides everything.
    struct World {
        private var server: Server
        private var devices: [Device]
        private var log = Log()
        private var random: SplitMix64
        /// Pushes that arrive again.
        private var repeated: [[Change]] = []
        private var isImplied = false

        init(seed: Int, fault: Fault? = nil) {
            random = SplitMix64(seed: UInt64(seed))
            server = Server(spaces: log.spaces, fault: fault)
            devices = []
            // The fourth device lacks a space.
            for number in 0..<(seed % 3 == 0 ? 4 : 3) {
                let skew = Int.random(in: 0..<30, using: &random)
                let spaces = number == 3 ? [0, 1] : [0, 1, 2]
                devices.append(Device(number: number, spaces: spaces, fault: fault, skew: skew))
            }
        }
    }
}

// MARK: - Running

extension MoveModel.World {
    /// Runs the world until it is quiet.
    ///
    /// - Returns: Nil if every row is in one space, with all that the users wrote.
    mutating func run() -> MoveModel.Difference? {
        let steps = [30, 80, 160][Int.random(in: 0..<3, using: &random)]
        for _ in 0..<steps { step() }
        for _ in 0..<60 {
            for number in devices.indices {
                pull(number)
                push(number, isLossy: false)
                devices[number].receiveAnswers(&log)
            }
            if let group = repeated.popLast() { _ = server.apply(group) }
        }
        for _ in 0..<20 { for number in devices.indices { pull(number) } }
        return isImplied ? .implied : difference
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func step() {
        let number = Int.random(in: 0..<devices.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<50: act(number)
        case ..<70: push(number, isLossy: true)
        case ..<95: pull(number)
        default:
            if repeated.isEmpty { return }
            _ = server.apply(repeated.remove(at: Int.random(in: 0..<repeated.count, using: &random)))
        }
    }

    private mutating func push(_ number: Int, isLossy: Bool) {
        devices[number].receiveAnswers(&log)
        for group in devices[number].groups() {
            noteImplied(group)
            devices[number].note(group)
            let verdicts = server.apply(group)
            if isLossy, chance(20) { repeated.append(group) }
            if isLossy, chance(20) { continue }
            devices[number].inFlight += zip(group, verdicts)
        }
        if chance(70) { devices[number].receiveAnswers(&log) }
    }

    private mutating func noteImplied(_ group: [MoveModel.Change]) {
        let moves = group.filter { $0.kind == .copy }
        if !moves.isEmpty, moves.allSatisfy({ $0.values.home == nil }) { isImplied = true }
    }

    private mutating func pull(_ number: Int) {
        for space in devices[number].spaces.shuffled(using: &random) {
            if chance(30) { continue }
            let limit = [2, 5, 100][Int.random(in: 0..<3, using: &random)]
            let cursor = devices[number].cursors[space] ?? 0
            let rows = server.spaces[space].enumerated().compactMap { id, row in row.map { (id: id, row: $0) } }
            let page = rows.filter { $0.row.version.seq > cursor }.sorted { $0.row.version.seq < $1.row.version.seq }
            for (id, row) in page.prefix(limit) {
                devices[number].receive(row, id, from: space, &log)
                devices[number].cursors[space] = row.version.seq
            }
        }
    }

    private mutating func act(_ number: Int) {
        let (lists, todos) = (devices[number].ids(lists: true), devices[number].ids(lists: false))
        let space = devices[number].spaces.randomElement(using: &random) ?? 0
        let list = lists.randomElement(using: &random)
        let todo = todos.randomElement(using: &random)
        let row = (lists + todos).randomElement(using: &random)
        let isFull = log.rows.count >= 60
        switch Int.random(in: 0..<12, using: &random) {
        case 0: if !isFull { devices[number].insert(isList: true, home: space, &log) }
        case 1, 2: if let list, !isFull { devices[number].insert(isList: false, home: list, &log) }
        case 3, 4: if let row { devices[number].write(row, title: log.time, &log) }
        case 5, 6: if let row { devices[number].count(row, &log) }
        case 7, 8: if let list { devices[number].write(list, home: space, &log) }
        case 9: if let todo, let list { devices[number].write(todo, home: list, &log) }
        case 10: if let todo, chance(40) { devices[number].delete(todo, &log) }
        default: if let list, chance(25) { devices[number].delete(list, &log) }
        }
    }
}

// MARK: - Judging

extension MoveModel.World {
    private typealias Living = [Int: (space: Int, values: MoveModel.Values)]

    private var difference: MoveModel.Difference? {
        if devices.contains(where: { $0.rows.contains { $0?.edit != nil } }) { return .pending }
        var living: Living = [:]
        for (space, rows) in server.spaces.enumerated() {
            for (id, row) in rows.enumerated() {
                guard let row, row.isAlive else { continue }
                if living.updateValue((space, row.values), forKey: id) != nil { return .twice }
            }
        }
        if !server.isSound { return .unsound }
        return devices.lazy.compactMap { difference(of: $0, from: living) }.first ?? difference(of: living)
    }

    private func difference(of device: MoveModel.Device, from living: Living) -> MoveModel.Difference? {
        for id in log.rows.indices {
            let theirs = living[id].flatMap { device.spaces.contains($0.space) ? $0 : nil }
            let mine = device[id]?.shown
            guard let theirs, let mine else {
                if theirs != nil || mine != nil { return .shown }
                continue
            }
            if device[id]?.place.space != theirs.space { return .shown }
            if mine.home != theirs.values.home || mine.title != theirs.values.title { return .shown }
            if device.count(of: id) != theirs.values.count { return .miscounted }
        }
        return nil
    }

    private func difference(of living: Living) -> MoveModel.Difference? {
        for drop in log.dropped where living[drop.row] != nil && devices[drop.device].spaces.count == log.spaces {
            return .dropped
        }
        let dropped = Set(log.dropped.map(\.row))
        for (id, row) in living {
            if log.deleted.contains(id) { return .revived }
            if dropped.contains(id) { continue }
            if row.values.home != log.homes[id] || row.values.title != log.titles[id] { return .outdated }
            if row.values.count != log.counts[id, default: 0] { return .miscounted }
        }
        let lists = log.rows.indices.filter { log.rows[$0] && living[$0] == nil }
        return lists.allSatisfy { log.deleted.contains($0) || log.perhapsDeleted.contains($0) } ? nil : .lost
    }
}
