// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The marker of one launch, kept while the app runs.
struct LaunchRecord: Hashable, Sendable, Codable {
    enum State: String, Sendable, Codable {
        case foreground, background, finished
    }

    var id: UUID
    var version: AppVersion
    /// When the launch began, in seconds since 1970 by the device's clock.
    var beganAt: Double
    /// The process.
    var process: Int32
    /// Names the time since the system was last started.
    var boot: String
    var state = State.foreground
    var unsentRows = 0
    var strain: Strain?

    /// The day on which the launch began, in days since 1970-01-01 UTC.
    var day: Int { Day.of(beganAt) }
}

/// What the app was under before it was killed.
public enum Strain: String, Hashable, Sendable, Codable {
    /// The system had warned of low memory.
    case memory
    /// The app did not react to its user.
    case hang
}

/// How a launch of the app ended, as the next launch finds out.
public enum LaunchEnd: Hashable, Sendable {
    /// The app said that it ends, or it was in the background, where the system may end it at any time.
    case normal
    /// The app was replaced by another version while it ran.
    case updated
    /// The system was restarted while the app ran.
    case systemRestarted
    /// The app was in the foreground, and is gone without a word and without a report of a crash: the system killed it, or
    /// its user did. `Strain` is the cause if the app had noted one.
    case killed(Strain?)
    /// The app crashed.
    case crashed(CrashReport)

    /// How a launch ended, as far as its record and the next launch's tell. No report is considered.
    init(of record: LaunchRecord, before next: LaunchRecord) {
        self =
            switch record.state {
            case .finished, .background: .normal
            case .foreground where record.boot != next.boot: .systemRestarted
            case .foreground where record.version != next.version: .updated
            case .foreground: .killed(record.strain)
            }
    }
}

/// Days since 1970-01-01 in UTC.
enum Day {
    /// - Parameter time: Seconds since 1970. A time before, or far in the future, counts as the nearest day that a report
    ///   can hold.
    static func of(_ time: Double) -> Int { Int(min(max((time / 86_400).rounded(.down), 0), 1_000_000)) }
}
