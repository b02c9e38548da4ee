// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What a process knows of a file that other processes may write too. Pure.
///
/// The file holds a ceiling: no stamp that any process has given or seen is later. A process that is alone raises the ceiling
/// to a second after the time of day, so that few writes need to raise it. Once another process has written, both keep the
/// ceiling exact for a while, so that each begins above the other's last stamp.
///
/// The ceiling counts from the time of day and not from the last stamp. However many launches begin at the ceiling one after
/// another, it is never more than a second ahead, unless a stamp is.
struct SharedFile: Sendable, Equatable {
    /// How far a process that is alone raises the ceiling above the time of day, in milliseconds.
    static let lead: Int64 = 1_000
    /// How many more stamps the ceiling leaves room for if stamps are already further ahead than that: 1/65 of a millisecond.
    private static let reserve: Int64 = 1_000
    /// How long the ceiling is kept exact after another process has written, in milliseconds.
    static let exactness: Int64 = 10_000

    /// SQLite's data version, as this process last saw it. It changes when another connection commits.
    private(set) var version: Int64
    private(set) var ceiling: Stamp
    private var exactUntil: Int64 = .min

    init(version: Int64, ceiling: Stamp) {
        self.version = version
        self.ceiling = ceiling
    }

    /// Notes what another process has committed.
    mutating func meet(version: Int64, ceiling: Stamp, at milliseconds: Int64) {
        self.version = version
        self.ceiling = ceiling
        exactUntil = milliseconds + Self.exactness
    }

    /// Notes that the clock was restarted, and that the file holds this ceiling.
    mutating func restart(at stamp: Stamp) { ceiling = stamp }

    /// Returns the ceiling to write to the file at the end of a transaction. Nil if the present ceiling is high enough.
    ///
    /// - Parameters:
    ///   - stamp: The last stamp that the transaction gave or saw.
    ///   - milliseconds: The time of day by which stamps are given, in milliseconds since 1970.
    mutating func raise(for stamp: Stamp, at milliseconds: Int64) -> Stamp? {
        let isExact = milliseconds < exactUntil && milliseconds >= exactUntil - Self.exactness
        if stamp <= ceiling { return nil }
        ceiling = isExact ? stamp : Self.ceiling(above: stamp, at: milliseconds)
        return ceiling
    }

    /// The ceiling for a process that is alone. It is later than the stamp, and it is a second ahead of the time of day, or
    /// just above the stamp if the stamp is further ahead.
    static func ceiling(above stamp: Stamp, at milliseconds: Int64) -> Stamp {
        max(Stamp(milliseconds: milliseconds + lead), Stamp(rawValue: stamp.rawValue + reserve))
    }
}
