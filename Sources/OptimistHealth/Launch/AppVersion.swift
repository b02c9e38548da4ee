// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A version and build of an app.
public struct AppVersion: Hashable, Sendable, Codable {
    /// The version, such as `1.0.2`.
    public let version: String
    /// The build of the version, such as `57`.
    public let build: String

    /// Creates a version. Each text is cut to 64 bytes without control characters, and an empty one becomes `-`.
    public init(_ version: String, build: String) {
        self.version = SafeText.name(version)
        self.build = SafeText.name(build)
    }

    /// The version and build of the running app: `CFBundleShortVersionString` and `CFBundleVersion` of its bundle.
    ///
    /// A program without a bundle, such as on Linux, gets `-` for both, and should name its version itself.
    public static var ofMainBundle: AppVersion {
        func text(_ key: String) -> String { Bundle.main.object(forInfoDictionaryKey: key) as? String ?? "" }
        return AppVersion(text("CFBundleShortVersionString"), build: text("CFBundleVersion"))
    }
}
