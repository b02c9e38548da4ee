// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// Stores reports of an app's health. It keeps the largest value of each running total.
package protocol HealthStore: Sendable {
    /// Stores each number of the report unless the stored number is larger. If they do not all fit, stores nothing.
    ///
    /// - Returns: The number of new totals and signatures, or nil if they did not fit.
    func keep(_ report: HealthReport, limits: HealthSettings) async throws -> HealthAddition?
    /// - Returns: False if the app does not have this signature.
    func remove(signature key: String, of app: String) async throws -> Bool
    /// - Parameter app: Nil for the first app by name.
    func sums(of app: String?) async throws -> HealthSums
    func forget(before day: Int) async throws
}

package struct HealthAddition: Hashable, Sendable {
    /// New combinations of installation, version, build and day.
    package var totals = 0
    package var signatures = 0

    package init() {}
}

package struct HealthSums: Hashable, Sendable {
    /// Sorted.
    package var apps: [String]
    /// Nil if nothing is stored.
    package var app: String?
    package var versions: [Version] = []
    package var signatures: [Signature] = []

    /// Sums over builds and days.
    package struct Version: Hashable, Sendable {
        package var version: String
        package var people: Int
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

    /// Sums over all versions.
    package struct Signature: Hashable, Sendable {
        /// The key under which it is stored.
        package var id: String
        /// The JSON that was stored first.
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
    /// The key under which a signature is stored: a hash of its group.
    package var key: String { Base64URL.encode(Array(SHA256.hash(group.utf8).prefix(15))) }
}
