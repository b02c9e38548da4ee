// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore
import OptimistWire

/// The apps that open invitation links, and the page of a link for browsers.
///
/// A link is `https://HOST/join#SECRET`. On a device with one of the apps, it opens the app, because the server answers
/// `GET /.well-known/apple-app-site-association`. In a browser, `GET /join` shows the link, to be copied, and where to
/// get the app. Browsers never send the secret, and the page keeps it.
///
/// > Source: Apple, "Supporting associated domains".
public struct JoinPage: Hashable, Sendable {
    /// The apps: for each its team id, a dot and its bundle id.
    public let appIDs: [String]
    /// Where people get the app. Nil: the page has no button for it.
    public let appStore: URL?

    /// Makes a page.
    ///
    /// - Parameters:
    ///   - appIDs: At least one id, such as `A1B2C3D4E5.org.example.app`.
    ///   - appStore: An `https` URL. Default: nil.
    /// - Throws: `OptimistError` with code `badJoinPage`. The message says what to change.
    public init(appIDs: [String], appStore: URL? = nil) throws {
        guard !appIDs.isEmpty else {
            throw OptimistError(.badJoinPage, "The page of links needs an app id (--app-id): \(Self.appIDForm).")
        }
        for id in appIDs where !Self.isAppID(id) {
            throw OptimistError(.badJoinPage, "\(id.shown()) is not an app id. It must be \(Self.appIDForm).")
        }
        guard appStore.map(Self.isAppStore) ?? true else {
            throw OptimistError(.badJoinPage, "The address of the app store must be \(Self.appStoreForm).")
        }
        self.appIDs = appIDs
        self.appStore = appStore
    }

    package static let appIDForm = """
        a team id of 10 letters or digits, a dot, and a bundle id of letters, digits, "-" and ".", such as \
        A1B2C3D4E5.org.example.app
        """
    package static let appStoreForm = "an https URL without a user, such as https://apps.apple.com/app/id1234567890"

    package static func isAppID(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9]{10}\.[A-Za-z0-9.-]+/) != nil
    }

    package static func isAppStore(_ url: URL) -> Bool { url.scheme == "https" && url.canBeCalled }
}

extension OptimistError.Code {
    /// The ids of apps that open invitation links, or the address of their store, cannot be used.
    public static let badJoinPage = Self("badJoinPage")
}

extension JoinPage {
    /// The content of `apple-app-site-association`.
    var association: JSON {
        let opening: JSON = ["appIDs": .array(appIDs.map(JSON.string)), "components": [["/": "/join"]]]
        return ["applinks": ["details": [opening]]]
    }

    /// The page for browsers.
    var html: String {
        let button = appStore.map { "<p><a class=\"button\" href=\"\($0.absoluteString.inHTML)\">Get the app</a></p>" }
        return Self.text(PackageResources.join_html)
            .replacing("<!-- style -->", with: "<style>\(Self.style)</style>")
            .replacing("<!-- app store -->", with: button ?? "")
            .replacing("<!-- script -->", with: "<script>\(Self.script)</script>")
    }

    /// The page may run its own script and use its own style, and loads nothing.
    ///
    /// > Source: Content Security Policy Level 3, W3C, §2.3.1.
    static let policy = """
        default-src 'none'; script-src '\(source(script))'; style-src '\(source(style))'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'
        """

    private static let style = text(PackageResources.join_css)
    private static let script = text(PackageResources.join_js)

    private static func text(_ file: [UInt8]) -> String { String(decoding: file, as: UTF8.self) }

    private static func source(_ text: String) -> String {
        "sha256-\(Data(SHA256.hash(text.utf8)).base64EncodedString())"
    }
}
