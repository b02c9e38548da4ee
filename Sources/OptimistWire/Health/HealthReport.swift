// This source file is part of the Optimist open source project, under the MIT licence.

/// An installation's report about the app's health: running totals for each version, build and day.
///
/// Totals only grow, each report repeats the earlier ones, and the server keeps the largest value it has seen. A lost,
/// repeated or late report therefore changes no figure.
@_spi(Internals) public struct HealthReport: Hashable, Sendable {
    /// The name of the app, as configured on the server.
    public var app: String
    /// A hash that identifies only the installation.
    public var install: String
    /// The totals, in any order. Several may share a version, build and day, with different signatures.
    public var totals: [HealthTotals]

    public init(app: String, install: String, totals: [HealthTotals]) {
        self.app = app
        self.install = install
        self.totals = totals
    }

    /// The maximum sizes of a report's parts.
    public enum Limit {
        /// The size of a report as JSON.
        public static let bytes = 65_536
        public static let totals = 200
        public static let signatures = 200
        /// The UTF-8 bytes of an app, installation, version or build name.
        public static let nameBytes = 64
        /// The UTF-8 bytes of a kind, message, function or file.
        public static let textBytes = 200
        public static let frames = 5
        /// The largest value of a counter.
        public static let count = 1_000_000
    }
}

/// An installation's running totals for one version and build, for the launches of one day.
@_spi(Internals) public struct HealthTotals: Hashable, Sendable, Codable {
    /// The version of the app, such as `1.0.2`.
    public var version: String
    public var build: String
    /// The day on which the launches began, by the device's clock in UTC: days since 1970-01-01.
    public var day: Int
    public var launches: Int
    /// The number of launches that ended in a crash or were killed in the foreground.
    public var abruptEnds: Int
    /// The number of abrupt ends with unsent rows.
    public var unsentEnds: Int
    /// The number of abrupt ends known to be crashes. The others are kills.
    public var crashes: Int
    /// The number of hangs from which the app recovered.
    public var hangs: Int
    public var signatures: [SignatureTotal]

    public init(
        version: String, build: String, day: Int, launches: Int = 0, abruptEnds: Int = 0, unsentEnds: Int = 0,
        crashes: Int = 0, hangs: Int = 0, signatures: [SignatureTotal] = []
    ) {
        self.version = version
        self.build = build
        self.day = day
        self.launches = launches
        self.abruptEnds = abruptEnds
        self.unsentEnds = unsentEnds
        self.crashes = crashes
        self.hangs = hangs
        self.signatures = signatures
    }
}

/// The number of times a signature occurred.
@_spi(Internals) public struct SignatureTotal: Hashable, Sendable, Codable {
    public var signature: CrashSignature
    public var count: Int
    /// The number of occurrences with unsent rows.
    public var unsent: Int

    public init(signature: CrashSignature, count: Int, unsent: Int) {
        self.signature = signature
        self.count = count
        self.unsent = unsent
    }
}
