// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The values in the journals and rejections of the devices, by device.
struct SharedKept {
    var texts: [Int: Set<String>] = [:]
    /// The rows with a rejection, on each device.
    var refused: [Int: Set<RowName>] = [:]
    var points: [RowName: Int64] = [:]
}

/// The rules for a world where everything is sent.
extension SharingLaw {
    func findings(keeping kept: SharedKept, clocksAreRight: Bool) -> [String] {
        history.writes.indices.flatMap { lostWords(of: $0, kept) + undeadRows(of: $0, kept) }
            + lostRows() + (clocksAreRight ? earlierMoves(kept) + earlierTexts(kept) : []) + wrongCounts(kept)
            + sentFailures()
    }

    /// Texts that reached neither the server nor a journal or rejection, and that their device did not replace.
    private func lostWords(of number: Int, _ kept: SharedKept) -> [String] {
        let write = history.writes[number]
        guard write.outcome == .returned, !write.isForgotten else { return [] }
        return write.texts.sorted { $0.key < $1.key }.compactMap { name, text in
            if history.stored[name]?.contains(text) == true || kept.texts[write.device]?.contains(text) == true
                || isReplaced(name, after: number, text: true)
            {
                return nil
            }
            return "lost: \(name) \(text) of write \(number) is nowhere (S1)"
        }
    }

    /// Whether the same device later replaced the row's text, or deleted the row.
    private func isReplaced(_ name: RowName, after number: Int, text: Bool) -> Bool {
        let write = history.writes[number]
        return history.writes(of: name).contains { later, other in
            later > number && other.device == write.device && other.outcome != .failed && !other.isForgotten
                && (text && other.texts[name] != nil || other.deleted.contains(name))
        }
    }

    /// Rows that a device deleted, and that live.
    private func undeadRows(of number: Int, _ kept: SharedKept) -> [String] {
        let write = history.writes[number]
        guard write.outcome == .returned, !write.isForgotten, !history.hasGoneBack, !history.hasRestoredDevice,
            !history.hasForgotten
        else { return [] }
        return write.deleted.sorted().compactMap { name in
            if history.homes(of: name).isEmpty || history.hasBeenAway(name, from: write.person)
                || kept.refused[write.device]?.contains(name) == true
            {
                return nil
            }
            return "undead: \(name), deleted by write \(number), lives (P4)"
        }
    }

    /// Rows that are gone, although no device deleted them or a row above them, and their space has not ended.
    private func lostRows() -> [String] {
        if history.hasRestoredDevice { return [] }
        let deleted = history.writes.reduce(into: Set<RowName>()) { $0.formUnion($1.deleted) }
        let kept = history.stored.keys.filter { !history.isDeleted($0, by: deleted) }.sorted()
        return kept.compactMap { name in
            if !history.homes(of: name).isEmpty || history.ended.contains(name) || history.isInForgottenSpace(name) {
                return nil
            }
            return "lost: \(name) was stored, nobody deleted it, and it lives nowhere (P2)"
        }
    }

    /// Roots that are where an earlier move put them.
    private func earlierMoves(_ kept: SharedKept) -> [String] {
        if history.hasGoneBack || history.hasRestoredDevice { return [] }
        return Set(history.writes.flatMap(\.places.keys)).sorted().compactMap { name -> String? in
            guard let home = history.homes(of: name).first else { return nil }
            let moves = history.writes(of: name).filter { $1.places[name] != nil && $1.outcome != .failed }
            // A rejection does not tell which of its device's moves was refused.
            let certain = moves.filter {
                kept.refused[$0.write.device]?.contains(name) != true
                    && !history.hasBeenAway(name, from: $0.write.person)
            }
            guard let last = certain.max(by: { $0.write.at < $1.write.at }) else { return nil }
            let latest = moves.filter { $0.write.at + 2 >= last.write.at }
            if latest.contains(where: { ($0.write.places[name] ?? nil) == home.space }) { return nil }
            if last.write.outcome == .unknown { return nil }
            return "move: \(name) is in \(home.id), and write \(last.number) moved it later (P4)"
        }
    }

    /// Rows with an earlier text than the latest one. Refused texts do not count.
    private func earlierTexts(_ kept: SharedKept) -> [String] {
        if history.hasGoneBack || history.hasRestoredDevice { return [] }
        return history.stored.keys.sorted().compactMap { name -> String? in
            guard let home = history.homes(of: name).first, let column = SharedTables.texts[name.table],
                let text = home.living[name]?[column] ?? nil, let clock = home.clocks[name]?[column]
            else { return nil }
            let later = history.writes(of: name).first { number, write in
                guard let other = write.texts[name], other != text, write.outcome == .returned else { return false }
                return write.at > clock.stamp.milliseconds + 1 && kept.texts[write.device]?.contains(other) != true
                    && !isReplaced(name, after: number, text: true)
            }
            return later.map { "text: \(name) is \(text), and write \($0.number) is later (M1)" }
        }
    }

    private func wrongCounts(_ kept: SharedKept) -> [String] {
        if history.hasGoneBack || history.hasRestoredDevice { return [] }
        return Set(history.writes.flatMap(\.points.keys)).sorted().compactMap { name -> String? in
            guard let home = history.homes(of: name).first else { return nil }
            let served = (home.living[name]?[SharedTables.counter.column] ?? nil).flatMap { Int64($0) } ?? 0
            let writes = history.writes(of: name).filter { $0.write.outcome != .failed }
            // A deletion drops the unsent counts of its device.
            let certain = writes.filter {
                $0.write.outcome == .returned && !isReplaced(name, after: $0.number, text: false)
            }
            let least = certain.reduce(0) { $0 + ($1.write.points[name] ?? 0) }
            let most = writes.reduce(0) { $0 + ($1.write.points[name] ?? 0) }
            let dropped = kept.points[name] ?? 0
            if served >= least - dropped, served <= most { return nil }
            return "count: \(name) has \(served), written were \(least) to \(most), dropped \(dropped) (M4)"
        }
    }

    private func sentFailures() -> [String] {
        history.writes.enumerated().filter { $1.outcome == .failed }.flatMap { number, write in
            write.texts.filter { history.stored[$0.key]?.contains($0.value) == true }.map {
                "failed: write \(number) failed, and the server has \($0.key) \($0.value)"
            }
        }
    }
}
