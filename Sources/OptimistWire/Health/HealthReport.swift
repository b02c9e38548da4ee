// This source file is part of the Optimist open source project, under the MIT licence.

/// What an installation of an app reports of its own health: running totals, each for one version, build and day.
///
/// Totals only grow, and a later report repeats the earlier ones. A server keeps the largest number that it has seen of
/// each. So a report that is lost, repeated or late changes no figure.
@_spi(Internals) public struct HealthReport: Hashable, Sendable {
    /// The name of the app, which the server was told too.
    public var app: String
    /// Names the installation, and nothing else: a hash.
    public var install: String
    /// The totals, in any order. The same version, build and day may come several times, with other signatures.
    public var totals: [HealthTotals]

    /// Makes a report, unchecked.
    public init(app: String, install: String, totals: [HealthTotals]) {
        self.app = app
        self.install = install
        self.totals = totals
    }

    /// What a report may hold at most.
    public enum Limit {
        /// The size of a report as JSON.
        public static let bytes = 65_536
        /// The totals of a report.
        public static let totals = 200
        /// The signatures of one total.
        public static let signatures = 200
        /// The UTF-8 bytes of the name of an app or an installation, of a version and of a build.
        public static let nameBytes = 64
        /// The UTF-8 bytes of a kind, message, function or file.
        public static let textBytes = 200
        /// The frames of a signature.
        public static let frames = 5
        /// The largest total.
        public static let count = 1_000_000
    }
}

/// The running totals of one version and build of an app, of one installation, for the launches of one day.
@_spi(Internals) public struct HealthTotals: Hashable, Sendable, Codable {
    /// The version of the app, such as `1.0.2`.
    public var version: String
    /// The build of the version.
    public var build: String
    /// The day on which the launches began, by the device's clock in UTC: days since 1970-01-01.
    public var day: Int
    /// How often the app was launched.
    public var launches: Int
    /// How many of the launches ended in a crash, or were killed in the foreground.
    public var abruptEnds: Int
    /// How many of the abrupt ends came while rows were unsent.
    public var unsentEnds: Int
    /// How many of the abrupt ends are known to be crashes. The others are kills.
    public var crashes: Int
    /// How often the app hung and went on.
    public var hangs: Int
    /// The signatures of the crashes and hangs.
    public var signatures: [SignatureTotal]

    /// Makes totals, unchecked. By default nothing is counted yet.
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

/// How often a signature was met.
@_spi(Internals) public struct SignatureTotal: Hashable, Sendable, Codable {
    /// The signature.
    public var signature: CrashSignature
    /// How often.
    public var count: Int
    /// How often while rows were unsent.
    public var unsent: Int

    /// Makes a total, unchecked.
    public init(signature: CrashSignature, count: Int, unsent: Int) {
        self.signature = signature
        self.count = count
        self.unsent = unsent
    }
}
