// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore

/// How an app's health is recorded and sent. The defaults fit an app with one process.
public struct HealthConfiguration: Sendable {
    /// The app's name in `optimist serve --health`. 1 to 64 bytes.
    public var app: String
    /// Any text specific to the app, the same in every installation. It is hashed into the name of this installation,
    /// so that the server cannot match it with another app's.
    public var salt: String
    /// The running version. Default: the main bundle's.
    public var version: AppVersion
    /// A file URL of the directory for two small files, created if missing. Each process needs its own directory.
    public var folder: URL
    /// The server. Nil: nothing is ever sent.
    public var server: URL?
    /// Whether health is recorded and sent. If false, the files of an earlier launch are deleted. Default: true.
    public var isOn: Bool
    /// Whether totals are also sent on a metered network, or in Low Data Mode. Default: false.
    public var sendsOnExpensiveNetworks: Bool
    /// Whether a server in the local network may be reached without TLS, for development. Default: false.
    public var allowsPlainHTTPToPrivateAddresses: Bool
    /// The sources of crash reports. Without one, a crash counts as a kill. Default: none.
    public var sources: [any CrashSource]
    /// The wait after a failure. Default: doubling from half a second to 15 minutes, with jitter.
    public var backoff: Backoff

    /// Creates a configuration. Each property documents its default.
    public init(
        app: String, salt: String, version: AppVersion = .ofMainBundle, at folder: URL, server: URL?, isOn: Bool = true,
        sendsOnExpensiveNetworks: Bool = false, allowsPlainHTTPToPrivateAddresses: Bool = false,
        sources: [any CrashSource] = [], backoff: Backoff = Backoff(ceiling: .seconds(900))
    ) {
        self.app = app
        self.salt = salt
        self.version = version
        self.folder = folder
        self.server = server
        self.isOn = isOn
        self.sendsOnExpensiveNetworks = sendsOnExpensiveNetworks
        self.allowsPlainHTTPToPrivateAddresses = allowsPlainHTTPToPrivateAddresses
        self.sources = sources
        self.backoff = backoff
    }
}
