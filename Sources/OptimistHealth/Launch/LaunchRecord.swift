// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The marker of one launch, updated while the app runs.
struct LaunchRecord: Hashable, Sendable, Codable {
    enum State: String, Sendable, Codable {
        case foreground, background, finished
    }

    var id: UUID
    var version: AppVersion
    /// In seconds since 1970 by the device's clock.
    var beganAt: Double
    var process: Int32
    /// An id of the boot during which the app was launched.
    var boot: String
    var state = State.foreground
    var unsentRows = 0
    var strain: Strain?

    /// The UTC day of the launch, in days since 1970-01-01.
    var day: Int { Day.of(beganAt) }
}

/// A strain that may explain a kill.
public enum Strain: String, Hashable, Sendable, Codable {
    /// The system has warned of low memory.
    case memory
    /// The app's main thread is unresponsive.
    case hang
}

/// How a launch of the app ended, as found at the next launch.
public enum LaunchEnd: Hashable, Sendable {
    /// The app reported its termination, or was in the background, where the system may end it at any time.
    case normal
    /// The app was replaced by another version while it ran.
    case updated
    /// The system was restarted while the app ran.
    case systemRestarted
    /// The app ended in the foreground without notice and without a crash report: the system or the user killed it. The
    /// `Strain` is the likely cause, if the app had noted one.
    case killed(Strain?)
    /// The app crashed.
    case crashed(CrashReport)

    /// Determines the end from the launch's record and the next launch's, without crash reports.
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

enum Day {
    /// - Parameter time: Seconds since 1970, clamped to the days that a report can hold.
    static func of(_ time: Double) -> Int { Int(min(max((time / 86_400).rounded(.down), 0), 1_000_000)) }
}
