// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistHealth
import OptimistWire

/// The way a phone's app ends.
enum LaunchEnding: String, Sendable {
    case quietly
    /// The app crashes, and the system writes a report.
    case crash
    /// The user ends the app while it is on screen. Nothing is recorded.
    case user
    /// The system warns of low memory, then ends the app.
    case memory
}

/// The end of the previous launch.
struct FoundEnd: Encodable, Sendable, Equatable {
    enum Kind: String, Encodable, Sendable {
        case normal, updated, systemRestarted, killed, outOfMemory, hung, crashed
    }

    var kind: Kind
    var function: String?
    /// The number of unsent rows at the end of that launch. Nil if the lab has been restarted.
    var unsent: Int?
    /// How many of the unsent rows the next launch did not find. Nil if `unsent` is nil.
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
