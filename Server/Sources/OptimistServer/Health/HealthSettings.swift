// This source file is part of the Optimist open source project, under the MIT licence.

/// Which app's health a server keeps, and how much of it.
///
/// Reports come from strangers: an app has no secret. The limits say how much a stranger can make the server store. When
/// one is reached, the server answers 503 and keeps what it has, and the devices try again later.
public struct HealthSettings: Hashable, Sendable {
    /// The name of the app, as `HealthConfiguration.app` of the devices has it. Reports of other names are refused.
    public var app: String
    /// How many totals of one day the server keeps at most: one for each installation, version and build. Default:
    /// 100,000, which take up about 15 MB.
    public var totalsPerDay: Int
    /// How many different signatures the server keeps at most. Further ones count as `other`. Default: 2,000.
    public var signatures: Int
    /// How many days are kept. Default: 90.
    public var days: Int
    /// How many reports one address may send at once. One more is allowed every second. Default: 300, since all phones of a
    /// campus may share an address.
    public var burstPerAddress: Int
    /// How many new totals one address may bring in a day. Further reports with new ones are refused until later. Default:
    /// 10,000.
    public var totalsPerAddress: Int
    /// How many new signatures one address may bring in a day. Further ones count as `other`. Default: 100, as a release
    /// brings a few new ones and all devices the same.
    public var signaturesPerAddress: Int

    /// Makes settings, unchecked. Each property says its default.
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
