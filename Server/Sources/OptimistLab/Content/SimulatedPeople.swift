// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistTesting

/// People with two versions of an app. The first version crashes at sign-in. The people report the app's health with
/// the real code.
actor SimulatedPeople {
    static let app = "lab"
    static let count = 50
    static let launches = 6

    private let folder: URL
    private let server: URL
    private var isBusy = false

    /// - Parameter folder: The folder for their files, which are deleted afterwards.
    init(folder: URL, server: URL) {
        self.folder = folder
        self.server = server
    }

    /// Simulates a group of people for some days.
    ///
    /// - Throws: `OptimistError` with code `badLabRequest` while another group is active.
    func come() async throws {
        guard !isBusy else { throw OptimistError(.badLabRequest, "Fifty people are using the app already.") }
        isBusy = true
        defer { isBusy = false }
        let own = folder.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: own) }
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        let fleet = HealthFleet(
            app: Self.app, at: own, server: server, transport: AsyncHTTPClientTransport.shared,
            seed: .random(in: .min ... .max))
        _ = try await fleet.run(
            installs: Self.count, launches: Self.launches,
            versions: Self.versions())
    }

    /// - Parameter name: Maps a version to its name on the server. Default: no change.
    static func versions(_ name: (String) -> String = { $0 }) -> [HealthFleet.Version] {
        [
            HealthFleet.Version(name("1.0.1"), crashRate: 0.2, killRate: 0.03),
            HealthFleet.Version(name("1.0.2"), crashRate: 0.02, killRate: 0.03),
        ]
    }
}
