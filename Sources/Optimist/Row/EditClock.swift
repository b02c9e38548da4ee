// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The time and the device of an unsent write.
enum EditClock: Hashable, Sendable {
    /// By this device, under its id at the time of sending.
    case own(Stamp)
    /// By the device in the clock. The server had this value and lost it, and gets it back unchanged (L3).
    case original(WriteClock)

    /// Rows inserted by the app's migrations: the same on every device, and earlier than any user's write.
    static let ofMigrations = EditClock.own(Stamp(rawValue: 1))

    /// - Parameter device: The current id of this device.
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

    var ownStamp: Stamp? { if case .own(let stamp) = self { stamp } else { nil } }
    var original: WriteClock? { if case .original(let clock) = self { clock } else { nil } }
}
