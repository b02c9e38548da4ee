// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// A one-line description of a row: the table's values, the server's word, the unsent edit, and other results of the
/// last event.
extension RowSubject: CustomStringConvertible {
    var description: String { ([state] + notes).joined(separator: "; ") }

    var state: String { ([table, word, unsent] + counters).joined(separator: "; ") }

    private var table: String {
        guard let shown else { return "shows nothing" }
        return "shows " + layout.columns.map { shown[$0.name]?.brief ?? "–" }.joined(separator: ",")
    }

    private var word: String {
        let remote = entry.remote
        var parts = ["server \(remote.generation)#\(remote.seq)"]
        if remote.isAlive {
            parts += layout.columns.compactMap { column in
                guard !column.isCounter, remote.has(column) else { return nil }
                return "\(column.name)\(Self.brief(remote.clock(of: column)))"
            }
            if remote.isElsewhere { parts.append("elsewhere") }
        } else if remote.generation > 0 {
            parts.append("ended\(Self.brief(remote.clocks.common))")
        }
        if remote.lastAnsweredPush > 0 { parts.append("answered") }
        return parts.joined(separator: " ")
    }

    private var unsent: String {
        guard let edit = entry.local else {
            return entry.generation == entry.remote.generation ? "clean" : "clean in \(entry.generation)"
        }
        var parts = ["unsent \(entry.generation)"]
        if edit.dirty & TableLayout.lifeMask != 0 { parts.append("life\(Self.brief(edit.lifeClock))") }
        for column in layout.columns(in: edit.dirty) {
            let base = edit.base[column.name].map { "<\($0)" } ?? ""
            let isUnread = edit.unread & column.mask != 0 ? "?" : ""
            parts.append("\(column.name)\(Self.brief(edit.clock(of: column.name)))\(base)\(isUnread)")
        }
        let unanswered = layout.columns(in: edit.sent).map(\.name)
        let life = edit.sent & TableLayout.lifeMask != 0 ? ["life"] : []
        if edit.sent != 0 { parts.append("sent[\((life + unanswered).joined(separator: " "))]") }
        if edit.lostLife != nil { parts.append("restored") }
        return parts.joined(separator: " ")
    }

    private var counters: [String] {
        entry.counters.values.map { counter in
            "counted "
                + counter.totals.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value.value) of \($0.value.confirmed)#\($0.value.seq)" }.joined(separator: ", ")
        }
    }

    private static func brief(_ clock: EditClock) -> String {
        switch clock {
        case .own(let stamp): "@\(brief(stamp))"
        case .original(let clock): brief(clock)
        }
    }

    private static func brief(_ clock: WriteClock?) -> String {
        clock.map { "@\(brief($0.stamp))\($0.device == device ? "mine" : "")" } ?? "@–"
    }

    /// The second of the stamp, with a counter if the stamp follows another one in the same second.
    private static func brief(_ stamp: Stamp) -> String {
        let second = Stamp(milliseconds: stamp.milliseconds)
        let beyond = stamp.rawValue - second.rawValue
        return "\(stamp.milliseconds / 1000)\(beyond == 0 ? "" : "+\(beyond)")"
    }
}

extension JSON {
    fileprivate var brief: String { string ?? description }
}
