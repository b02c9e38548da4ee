// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistServer

/// The apps that open invitation links.
struct JoinOptions: ParsableArguments {
    @Option(
        name: .customLong("app-id"),
        help: ArgumentHelp(
            "An app that opens invitation links, such as A1B2C3D4E5.org.example.app: its team id and its bundle id.",
            discussion: """
                May be repeated. The server then has the routes /.well-known/apple-app-site-association, for Apple's \
                systems, and /join, the page of a link for browsers.
                """, valueName: "id"), transform: JoinOptions.parseID)
    var appIDs: [String] = []

    @Option(
        help: ArgumentHelp("Where people get the app. The page of a link has a button for it.", valueName: "url"),
        transform: JoinOptions.parseStore)
    var appStore: URL?

    /// - Throws: `OptimistError` with code `badJoinPage` if there is an app store without an app.
    func page() throws -> JoinPage? {
        if appIDs.isEmpty, appStore == nil { return nil }
        return try JoinPage(appIDs: appIDs, appStore: appStore)
    }

    private static func parseID(_ text: String) throws -> String {
        guard JoinPage.isAppID(text) else { throw ValidationError("It must be \(JoinPage.appIDForm).") }
        return text
    }

    private static func parseStore(_ text: String) throws -> URL {
        guard let url = URL(string: text), JoinPage.isAppStore(url) else {
            throw ValidationError("It must be \(JoinPage.appStoreForm).")
        }
        return url
    }
}
