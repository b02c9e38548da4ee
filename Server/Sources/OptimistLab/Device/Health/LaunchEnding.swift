// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistHealth
import OptimistWire

/// How a phone's app is brought to its end.
enum LaunchEnding: String, Sendable {
    /// The app says that it ends.
    case quietly
    /// The app traps, and the system writes a report of that.
    case crash
    /// The user ends the app while it is on the screen. Nothing is written.
    case user
    /// The system warns of low memory, and then ends the app.
    case memory
}

/// What a launch has found out about the one before it.
struct FoundEnd: Encodable, Sendable, Equatable {
    enum Kind: String, Encodable, Sendable {
        case normal, updated, systemRestarted, killed, outOfMemory, hung, crashed
    }

    var kind: Kind
    /// The function that crashed.
    var function: String?
    /// How many rows the server did not have when the launch ended. Nil: the lab was started since.
    var unsent: Int?
    /// How many of those the next launch did not find. Nil: as above.
    var lost: Int?

    init(_ end: LaunchEnd) {
        switch end {
        case .normal: kind = .normal
        case .updated: kind = .updated
        case .systemRestarted: kind = .systemRestarted
        case .killed(.memory): kind = .outOfMemory
        case .killed(.hang): kind = .hung
        case .killed(nil): kind = .killed
        case .crashed(let report):
            kind = .crashed
            function = report.signature.frames.first?.function
        }
    }
}
