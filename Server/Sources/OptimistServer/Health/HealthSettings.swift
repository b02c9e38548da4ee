// This source file is part of the Optimist open source project, under the MIT licence.

/// Which app's health a server collects, and how much of it.
///
/// Reports are not authenticated, because an app cannot keep a secret. The limits bound how much a stranger can make
/// the server store. When a day is full, the server answers 503, and devices try again later.
public struct HealthSettings: Hashable, Sendable {
    package var app: String
    package var totalsPerDay: Int
    package var signatures: Int
    package var days: Int
    package var burstPerAddress: Int
    package var totalsPerAddress: Int
    package var signaturesPerAddress: Int

    /// Makes settings without checking them.
    ///
    /// - Parameters:
    ///   - app: The name of the app, as in the devices' `HealthConfiguration.app`. Reports with other names are
    ///     refused.
    ///   - totalsPerDay: The maximum number of totals to store for one day. Each installation, version and build has
    ///     one total a day. Default: 100,000, about 15 MB.
    ///   - signatures: The maximum number of signatures to store. Further signatures count as `other`. Default: 2,000.
    ///   - days: How many days to keep. Default: 90.
    ///   - burstPerAddress: The maximum number of reports from one address in a burst. After that, one more every
    ///     second. Default: 300, because all phones of a campus may share an address.
    ///   - totalsPerAddress: The maximum number of new totals from one address in a day. Further reports are refused
    ///     until later. Default: 10,000.
    ///   - signaturesPerAddress: The maximum number of new signatures from one address in a day. Further signatures
    ///     count as `other`. Default: 100, because a release adds few signatures, and all devices report the same ones.
    public init(
        app: String, totalsPerDay: Int = 100_000, signatures: Int = 2_000, days: Int = 90, burstPerAddress: Int = 300,
        totalsPerAddress: Int = 10_000, signaturesPerAddress: Int = 100
    ) {
        self.app = app
        self.totalsPerDay = totalsPerDay
        self.signatures = signatures
        self.days = days
        self.burstPerAddress = burstPerAddress
        self.totalsPerAddress = totalsPerAddress
        self.signaturesPerAddress = signaturesPerAddress
    }
}
