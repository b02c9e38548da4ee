// This source file is part of the Optimist open source project, under the MIT licence.

/// Which app's health a server keeps, and how much of it.
///
/// Reports come from strangers: an app has no secret. The limits say how much a stranger can make the server store. When
/// one is reached, the server answers 503 and keeps what it has, and the devices try again later.
public struct HealthSettings: Hashable, Sendable {
    package var app: String
    package var totalsPerDay: Int
    package var signatures: Int
    package var days: Int
    package var burstPerAddress: Int
    package var totalsPerAddress: Int
    package var signaturesPerAddress: Int

    /// Makes settings, unchecked.
    ///
    /// - Parameters:
    ///   - app: The name of the app, as `HealthConfiguration.app` of the devices has it. Reports of other names are
    ///     refused.
    ///   - totalsPerDay: How many totals of one day the server keeps at most: one for each installation, version and
    ///     build. Default: 100,000, which take up about 15 MB.
    ///   - signatures: How many different signatures the server keeps at most. Further ones count as `other`. Default:
    ///     2,000.
    ///   - days: How many days are kept. Default: 90.
    ///   - burstPerAddress: How many reports one address may send at once. One more is allowed every second. Default:
    ///     300, since all phones of a campus may share an address.
    ///   - totalsPerAddress: How many new totals one address may bring in a day. Further reports with new ones are
    ///     refused until later. Default: 10,000.
    ///   - signaturesPerAddress: How many new signatures one address may bring in a day. Further ones count as `other`.
    ///     Default: 100, as a release brings a few new ones and all devices the same.
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
