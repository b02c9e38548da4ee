// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistTesting

/// People with two versions of an app: the first one crashes at sign-in. Each keeps and sends the app's health with the real
/// code, to the lab's server.
actor SimulatedPeople {
    /// The name of their app on the server.
    static let app = "lab"
    /// How many come at once.
    static let count = 50
    /// How often each of them launches the app.
    static let launches = 6

    private let folder: URL
    private let server: URL
    private var isBusy = false

    /// - Parameters:
    ///   - folder: For their files, which are removed again.
    ///   - server: The server's address.
    init(folder: URL, server: URL) {
        self.folder = folder
        self.server = server
    }

    /// Lets further people use both versions for some days.
    ///
    /// - Throws: `OptimistError` with code `badLabRequest` while others do.
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

    /// Their two versions: the first one crashes at sign-in.
    ///
    /// - Parameter name: What a version is called on the server. Default: as it is.
    static func versions(_ name: (String) -> String = { $0 }) -> [HealthFleet.Version] {
        [
            HealthFleet.Version(name("1.0.1"), crashRate: 0.2, killRate: 0.03),
            HealthFleet.Version(name("1.0.2"), crashRate: 0.02, killRate: 0.03),
        ]
    }
}
