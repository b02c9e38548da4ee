// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore

/// How an app's health is kept and sent. Every default is right for an app with one process.
public struct HealthConfiguration: Sendable {
    /// The name of the app, as the server knows it: see `optimist serve --health`. 1 to 64 bytes.
    public var app: String
    /// Any text of the app's own, the same in every installation. It goes into the name by which the server knows this
    /// installation, so that it cannot be matched with that of another app.
    public var salt: String
    /// The version that runs. Default: that of the main bundle.
    public var version: AppVersion
    /// A file URL of the directory for the two small files, which is made if it is missing. Each process that keeps its
    /// health needs one of its own.
    public var folder: URL
    /// The server. Nil: nothing is ever sent.
    public var server: URL?
    /// Whether anything is kept and sent. If false, the files of an earlier launch are deleted. Default: true.
    public var isOn: Bool
    /// Whether totals are also sent on a network whose user may pay for it or has asked apps to send little. Default: false.
    public var sendsOnExpensiveNetworks: Bool
    /// Whether a server of the local network may be reached without TLS, for development. Default: false.
    public var allowsPlainHTTPToPrivateAddresses: Bool
    /// What knows why the app crashed. Without one a crash counts as a kill. Default: none.
    public var sources: [any CrashSource]
    /// How long to wait after a failure. Default: doubling from half a second to 15 minutes, drawn at random.
    public var backoff: Backoff

    /// Makes a configuration. Each property says its default.
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
