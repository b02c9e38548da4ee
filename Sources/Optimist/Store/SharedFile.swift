// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What a process knows of a file that other processes may write too. Pure.
///
/// The file holds a ceiling: no stamp that any process has given or seen is later. A process that is alone raises it to
/// a second after the time of day, so that few writes pay for it. Once another one has written, both keep it exact for a
/// while: each then begins above the other's last stamp.
///
/// The ceiling counts from the time of day and not from the last stamp. So however many launches begin at it one after
/// the other, it is never more than a second ahead, unless a stamp is.
struct SharedFile: Sendable, Equatable {
    /// How far a process that is alone raises the ceiling above the time of day, in milliseconds.
    static let lead: Int64 = 1_000
    /// How many more stamps the ceiling leaves room for where stamps are ahead of that already. A 65th of a millisecond.
    private static let reserve: Int64 = 1_000
    /// How long the ceiling is kept exact after another process has written, in milliseconds.
    static let exactness: Int64 = 10_000

    /// SQLite's count of what others committed, as this process last saw it.
    private(set) var version: Int64
    private(set) var ceiling: Stamp
    private var exactUntil: Int64 = .min

    init(version: Int64, ceiling: Stamp) {
        self.version = version
        self.ceiling = ceiling
    }

    /// Takes note of what others committed.
    mutating func meet(version: Int64, ceiling: Stamp, at milliseconds: Int64) {
        self.version = version
        self.ceiling = ceiling
        exactUntil = milliseconds + Self.exactness
    }

    /// Takes note that the clock began again, and that the file holds this ceiling.
    mutating func restart(at stamp: Stamp) { ceiling = stamp }

    /// The ceiling to write to the file, for a transaction whose last stamp given or seen this is. Nil: it stands.
    ///
    /// - Parameter milliseconds: The time of day by which stamps are given, since 1970.
    mutating func raise(for stamp: Stamp, at milliseconds: Int64) -> Stamp? {
        let isExact = milliseconds < exactUntil && milliseconds >= exactUntil - Self.exactness
        if stamp <= ceiling { return nil }
        ceiling = isExact ? stamp : Self.ceiling(above: stamp, at: milliseconds)
        return ceiling
    }

    /// The ceiling for a process that is alone: later than a stamp, and a second ahead of the time of day or hardly more
    /// than the stamp is.
    static func ceiling(above stamp: Stamp, at milliseconds: Int64) -> Stamp {
        max(Stamp(milliseconds: milliseconds + lead), Stamp(rawValue: stamp.rawValue + reserve))
    }
}
