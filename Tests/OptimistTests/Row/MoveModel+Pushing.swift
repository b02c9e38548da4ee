// This source file is part of the Optimist open source project, under the MIT licence.

@testable import Optimist

// MARK: - Assembling a push

extension MoveModel.Device {
    /// The unsent changes. A moved list and its to-dos are one group.
    func groups() -> [[MoveModel.Change]] {
        var (groups, used): ([[MoveModel.Change]], Set<Int>) = ([], [])
        let (lists, todos) = (ids(lists: true), ids(lists: false))
        for list in lists {
            guard let row = self[list], let from = row.place.space, let to = space(of: list), from != to,
                fault == .impliedMove || row.edit?.values.home != nil || row.edit?.isNew == true
            else { continue }
            let children = children(of: list, outside: to)
            used.formUnion([list] + children)
            append([change(list)] + children.map { change($0, to: to) }, &groups)
        }
        for id in lists + todos + Array(rows.indices) where !used.contains(id) && self[id]?.edit != nil {
            used.insert(id)
            append([change(id)], &groups)
        }
        return groups
    }

    private func append(_ group: [MoveModel.Change?], _ groups: inout [[MoveModel.Change]]) {
        let changes = group.compactMap { $0 }
        if !changes.isEmpty, changes.count == group.count { groups.append(changes) }
    }

    /// The sent to-dos of a list that are not in its space.
    private func children(of list: Int, outside space: Int) -> [Int] {
        if fault == .subtreeForgotten { return [] }
        return ids(lists: false).filter { todo in
            self[todo]?.shown?.home?.value == list && self[todo]?.place.space.map { $0 != space } == true
        }
    }

    /// Fixes the places of new rows.
    mutating func note(_ group: [MoveModel.Change]) {
        for change in group where change.kind == .set && fault != .placeNotNoted {
            rows[change.row]?.place.note(change.sent.space)
        }
    }

    private func change(_ id: Int, to forced: Int? = nil) -> MoveModel.Change? {
        guard let row = self[id] else { return nil }
        let (place, edit) = (row.place, row.edit)
        let life = place.isAlive || place.isNoted ? place.life : place.generation + 1
        let firstLife = place.generation == 0 ? life : place.version.firstLife
        if edit?.isDeleted == true {
            guard let space = place.space else { return nil }
            let generation = place.isAlive || place.isNoted ? life : place.generation - 1
            let sent = RowPlace.Sent(space: space, generation: generation, firstLife: firstLife)
            return MoveModel.Change(kind: .delete, row: id, isList: row.isList, sent: sent)
        }
        guard var to = forced ?? space(of: id) else { return nil }
        let from = place.space ?? to
        // Only an edit moves a row, or a move of the row above it.
        if forced == nil, edit?.values.home == nil, fault != .impliedMove { to = from }
        let isWhole = !place.isAlive
        var values = isWhole ? row.shown ?? MoveModel.Values() : edit?.values ?? MoveModel.Values()
        values.counts = SIMD4()
        values.counts[number] = edit?.total ?? 0
        let sent = RowPlace.Sent(
            space: from, destination: from == to ? nil : to, generation: life, firstLife: firstLife)
        return MoveModel.Change(
            kind: from == to ? .set : .copy, row: id, isList: row.isList, sent: sent, values: values, isWhole: isWhole)
    }
}

// MARK: - The user

extension MoveModel.Device {
    mutating func insert(isList: Bool, home: Int, _ log: inout MoveModel.Log) {
        let id = log.rows.count
        log.rows.append(isList)
        while rows.count <= id { rows.append(nil) }
        rows[id] = LocalRow(isList: isList, edit: Edit(isNew: true))
        write(id, home: home, &log)
        write(id, title: id, &log)
    }

    mutating func write(_ id: Int, home: Int? = nil, title: Int? = nil, _ log: inout MoveModel.Log) {
        guard let shown = self[id]?.shown else { return }
        let former = home == nil ? shown.title : shown.home
        log.time += 1
        // A device's times end in its number, so that no two are equal.
        let now = max(log.time + skew, (former?.time ?? 0) / 8 + 1)
        write(id, isHome: home != nil, MoveModel.Cell(value: home ?? title ?? 0, time: now * 8 + number + 1), &log)
    }

    mutating func write(_ id: Int, isHome: Bool, _ cell: MoveModel.Cell, _ log: inout MoveModel.Log) {
        var edit = self[id]?.edit ?? Edit()
        if isHome {
            edit.values.home = cell
            log.homes[id] = MoveModel.Cell.later(log.homes[id], cell)
        } else {
            edit.values.title = cell
            log.titles[id] = MoveModel.Cell.later(log.titles[id], cell)
        }
        rows[id]?.edit = edit
    }

    mutating func count(_ id: Int, _ log: inout MoveModel.Log) {
        var edit = self[id]?.edit ?? Edit()
        edit.total = max(edit.total, self[id]?.values.counts[number] ?? 0) + 1
        rows[id]?.edit = edit
        log.counts[id, default: 0] += 1
    }

    /// Deletes a row, and the to-dos of a list.
    mutating func delete(_ id: Int, _ log: inout MoveModel.Log) {
        if self[id]?.isList == true {
            for todo in ids(lists: false) where self[todo]?.shown?.home?.value == id { remove(todo, &log) }
        }
        remove(id, &log)
    }

    mutating func remove(_ id: Int, _ log: inout MoveModel.Log) {
        if spaces.count == log.spaces { log.deleted.insert(id) } else { log.perhapsDeleted.insert(id) }
        guard self[id]?.place.space != nil else {
            rows[id] = nil
            return
        }
        var edit = self[id]?.edit ?? Edit()
        edit.isDeleted = true
        edit.values = MoveModel.Values()
        rows[id]?.edit = edit
    }
}
