// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A process's view of a file that it may share with other processes. Pure.
///
/// The file stores a ceiling. No stamp that any process has given or seen exceeds it. A process that is alone raises
/// the ceiling to a second after the current time, so that few writes need to raise it. After another process has
/// written, both keep the ceiling exact for a while, so that each starts above the other's last stamp.
///
/// The ceiling is based on the time, not on the last stamp, so that the ceiling stays within a second of the time
/// during a series of launches, unless a stamp is further ahead.
struct SharedFile: Sendable, Equatable {
    /// How far a process that is alone raises the ceiling above the current time, in milliseconds.
    static let lead: Int64 = 1_000
    /// The room, in stamps, that the ceiling leaves if stamps are already further ahead. These stamps take 1/65 of a
    /// millisecond.
    private static let reserve: Int64 = 1_000
    /// How long the ceiling stays exact after another process has written, in milliseconds.
    static let exactness: Int64 = 10_000

    /// SQLite's data version as last seen by this process.
    private(set) var version: Int64
    private(set) var ceiling: Stamp
    private var exactUntil: Int64 = .min
    /// Empty after a write of another process or of the server.
    var checkedAnchors = CheckedAnchors()

    init(version: Int64, ceiling: Stamp) {
        self.version = version
        self.ceiling = ceiling
    }

    mutating func meet(version: Int64, ceiling: Stamp, at milliseconds: Int64) {
        self.version = version
        self.ceiling = ceiling
        checkedAnchors.forget()
        exactUntil = milliseconds + Self.exactness
    }

    mutating func restart(at stamp: Stamp) { ceiling = stamp }

    /// Returns the ceiling to store at the end of a transaction. Nil if the current one is high enough.
    ///
    /// - Parameters:
    ///   - stamp: The last stamp that the transaction gave or saw.
    ///   - milliseconds: The current time, in milliseconds since 1970.
    mutating func raise(for stamp: Stamp, at milliseconds: Int64) -> Stamp? {
        let isExact = milliseconds < exactUntil && milliseconds >= exactUntil - Self.exactness
        if stamp <= ceiling { return nil }
        ceiling = isExact ? stamp : Self.ceiling(above: stamp, at: milliseconds)
        return ceiling
    }

    /// The ceiling for a process that is alone: a second ahead of the time, or just above the stamp if that is later.
    static func ceiling(above stamp: Stamp, at milliseconds: Int64) -> Stamp {
        max(Stamp(milliseconds: milliseconds + lead), Stamp(rawValue: stamp.rawValue + reserve))
    }
}
