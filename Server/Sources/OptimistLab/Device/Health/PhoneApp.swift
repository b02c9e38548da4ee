// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistHealth
@_spi(Internals) import OptimistTesting
import OptimistWire

/// The app on a phone: its name on the server, its version and its crash.
struct PhoneApp: Sendable {
    var name: String
    var version: AppVersion
    var crash: CrashSignature

    /// Phone A has the version that crashes at sign-in, and all other phones have the next version.
    init(_ name: String, ofPhone phone: String) {
        self.name = name
        let isEarlier = phone == "A"
        version = AppVersion(isEarlier ? "1.0.1" : "1.0.2", build: "1")
        crash = isEarlier ? HealthFleet.crashAtSignIn : Self.crashInFeed
    }

    private static let crashInFeed = CrashSignature(
        kind: "Fatal error", message: "Index out of range",
        frames: [
            .init(image: "7c01d6aa", offset: 9_312, function: "FeedViewModel.pose(at:)", file: "Feed.swift", line: 87)
        ])
}
