// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// When an unsent value was written, and by which device.
enum EditClock: Hashable, Sendable {
    /// By this device, under the id that it has when it sends the value.
    case own(Stamp)
    /// By the device that the clock names. The server had the value and has lost it, and gets it back unchanged (L3).
    case original(WriteClock)

    /// The clock of a row that the app's migrations inserted: earlier than every clock of a user's write, and the same on each
    /// device.
    static let ofMigrations = EditClock.own(Stamp(rawValue: 1))

    /// The clock that the value is sent with.
    ///
    /// - Parameter device: The present id of this device.
    func clock(_ device: String) -> WriteClock {
        switch self {
        case .own(let stamp): WriteClock(stamp: stamp, device: device)
        case .original(let clock): clock
        }
    }

    var stamp: Stamp {
        switch self {
        case .own(let stamp): stamp
        case .original(let clock): clock.stamp
        }
    }

    /// The stamp, if this device gave it to an edit that the server has not accepted yet.
    var ownStamp: Stamp? { if case .own(let stamp) = self { stamp } else { nil } }
    /// The clock, if the server had the value and has lost it.
    var original: WriteClock? { if case .original(let clock) = self { clock } else { nil } }
}
