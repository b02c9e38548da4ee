// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistServer
import OptimistServing

/// The address of a backend as words: a URL, then its settings. It names the files of secrets, and does not contain
/// a secret.
///
///     https://backend.example.org/optimist name=billing secret=billing.secret type=order scope=persons
struct EndpointOption: Hashable, Sendable {
    private let option: String
    private let url: URL
    private let settings: [String: [String]]
    /// An error of the option's parser would show the whole value, which may contain a token by mistake.
    private let problem: String?

    /// The default of `secret=FILE`: one or two secrets, separated by a space.
    static let variable = "OPTIMIST_WEBHOOK_SECRET"
    static let webhookExplained = "name=NAME, secret=FILE, type=TYPE, scope=persons|spaces|all and timeout=SECONDS"
    static let hookExplained = "secret=FILE and deadline=SECONDS"

    @Sendable static func webhook(_ text: String) -> EndpointOption {
        EndpointOption(text, "--webhook", ["name", "secret", "type", "scope", "timeout"], explained: webhookExplained)
    }

    @Sendable static func hook(_ text: String) -> EndpointOption {
        EndpointOption(text, "--hook", ["secret", "deadline"], explained: hookExplained)
    }

    private init(_ text: String, _ option: String, _ names: [String], explained: String) {
        self.option = option
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        let url = words.first.flatMap { URL(string: $0) }
        self.url = url ?? URL(filePath: "/")
        var (settings, problem): ([String: [String]], String?) = ([:], nil)
        if !["http", "https"].contains(url?.scheme ?? "") || url?.host()?.isEmpty != false || url?.user() != nil {
            problem = "\(option) must begin with an http or https URL without a user."
        }
        for word in words.dropFirst() {
            let sides = word.split(separator: "=", maxSplits: 1).map(String.init)
            if sides.count == 2, names.contains(sides[0]) {
                settings[sides[0], default: []].append(sides[1])
            } else {
                problem = "\(option) has an unknown setting. The settings are \(explained)."
            }
        }
        if settings["secret"]?.contains(where: { $0.hasPrefix("whsec_") }) == true {
            problem = "\(option): secret must be the path of a file. Put the secret into a file."
        }
        self.settings = settings
        self.problem = problem
    }

    /// - Throws: `ValidationError`, without the option's value.
    func validate() throws {
        if let problem { throw ValidationError(problem) }
        if let scope = settings["scope"]?.last { _ = try Webhook.Scope(scope, for: "\(option): scope") }
        _ = try (seconds("timeout"), seconds("deadline"))
    }

    /// For `--print-configuration`, without the query of the URL.
    var text: String {
        let words = settings.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "\(name)=\($0)" } }
        return ([url.shownAddress] + words).joined(separator: " ")
    }

    /// - Throws: `OptimistError` with code `badWebhook`.
    func webhook() throws -> Webhook {
        let host = (url.host() ?? "").lowercased()
        let name = String(host.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(40))
        var webhook = Webhook(
            name: settings["name"]?.last ?? name, url: url, secrets: try secrets(),
            types: settings["type"].map { Set($0) })
        if let scope = settings["scope"]?.last { webhook.scope = try Webhook.Scope(scope, for: "--webhook: scope") }
        if let timeout = try seconds("timeout") { webhook.timeout = timeout }
        return webhook
    }

    /// - Throws: `OptimistError` with code `badWebhook`.
    func hook() throws -> GroupHook {
        try .calling(url, secrets: try secrets(), deadline: try seconds("deadline") ?? .seconds(2))
    }

    private func seconds(_ name: String) throws -> Duration? {
        guard let text = settings[name]?.last else { return nil }
        guard let seconds = Int(text), (1...600).contains(seconds) else {
            throw ValidationError("\(option): \(name) must be a number of seconds from 1 to 600.")
        }
        return .seconds(seconds)
    }

    private func secrets() throws -> [WebhookSecret] {
        let texts: [String]
        if let files = settings["secret"] {
            texts = try files.map { file in
                guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else {
                    throw OptimistError(.badWebhook, "\(option): the secret in \(file) cannot be read.")
                }
                return text
            }
        } else if let text = ProcessInfo.processInfo.environment[Self.variable] {
            texts = [text]
        } else {
            throw OptimistError(
                .badWebhook,
                """
                \(option) needs a secret for its signatures. Create one with \
                `(umask 077; optimist webhook secret > FILE)`, and pass it with secret=FILE or in \(Self.variable).
                """)
        }
        return try texts.flatMap { $0.split(whereSeparator: \.isWhitespace) }.map { try WebhookSecret(String($0)) }
    }
}
