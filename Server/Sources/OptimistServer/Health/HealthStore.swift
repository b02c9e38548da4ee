// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// Keeps what devices report of an app's health: the largest of each running total.
package protocol HealthStore: Sendable {
    /// Keeps the larger of each stored and given number, all or nothing.
    ///
    /// - Returns: The number of new totals and signatures. Nil: there was no room, and nothing has changed.
    /// - Throws: The database's error.
    func keep(_ report: HealthReport, limits: HealthSettings) async throws -> HealthAddition?
    /// Removes a signature and its totals, by its key.
    ///
    /// - Returns: False if the app has no such signature.
    /// - Throws: The database's error.
    func remove(signature key: String, of app: String) async throws -> Bool
    /// Returns the sums of an app.
    ///
    /// - Parameter app: Nil: of the only one, or the first by name.
    /// - Throws: The database's error.
    func sums(of app: String?) async throws -> HealthSums
    /// Removes what is about days before this one.
    ///
    /// - Throws: The database's error.
    func forget(before day: Int) async throws
}

/// How much a report added to the stored totals and signatures.
package struct HealthAddition: Hashable, Sendable {
    /// The totals of installations, versions, builds and days that were not there.
    package var totals = 0
    /// The signatures that were not there.
    package var signatures = 0

    package init() {}
}

/// What the totals of all installations come to.
package struct HealthSums: Hashable, Sendable {
    /// The apps that have totals, by name.
    package var apps: [String]
    /// The app that the sums are of. Nil: nothing is stored.
    package var app: String?
    package var versions: [Version] = []
    package var signatures: [Signature] = []

    /// The sums of a version, over its builds and days.
    package struct Version: Hashable, Sendable {
        package var version: String
        package var people: Int
        /// How many people met a crash.
        package var crashedPeople: Int
        package var launches: Int
        package var abruptEnds: Int
        package var unsentEnds: Int
        package var crashes: Int
        package var hangs: Int
        package var firstDay: Int
        package var lastDay: Int

        package init(
            version: String, people: Int, crashedPeople: Int, launches: Int, abruptEnds: Int, unsentEnds: Int,
            crashes: Int, hangs: Int, firstDay: Int, lastDay: Int
        ) {
            self.version = version
            self.people = people
            self.crashedPeople = crashedPeople
            self.launches = launches
            self.abruptEnds = abruptEnds
            self.unsentEnds = unsentEnds
            self.crashes = crashes
            self.hangs = hangs
            self.firstDay = firstDay
            self.lastDay = lastDay
        }
    }

    /// The sums of a signature, over all versions.
    package struct Signature: Hashable, Sendable {
        /// The key under which it is stored.
        package var id: String
        /// As it was stored first: a text of JSON.
        package var content: String
        package var people: Int
        package var count: Int
        package var unsent: Int
        package var firstDay: Int
        package var lastDay: Int
        package var versions: [String]

        package init(
            id: String, content: String, people: Int, count: Int, unsent: Int, firstDay: Int, lastDay: Int,
            versions: [String]
        ) {
            self.id = id
            self.content = content
            self.people = people
            self.count = count
            self.unsent = unsent
            self.firstDay = firstDay
            self.lastDay = lastDay
            self.versions = versions
        }
    }

    package init(apps: [String], app: String?) {
        self.apps = apps
        self.app = app
    }
}

extension CrashSignature {
    /// The key under which a signature is stored: a hash of what it is grouped by.
    package var key: String { Base64URL.encode(Array(SHA256.hash(group.utf8).prefix(15))) }
}
