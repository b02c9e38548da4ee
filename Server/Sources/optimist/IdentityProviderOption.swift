// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistServer

/// An identity provider as words: a preset, then its settings. It names the files of secrets, and does not contain a
/// secret.
///
///     apple audience=org.example.app join-by-email
///     oidc:https://login.example.org audience=app name=example algorithm=ES256
struct IdentityProviderOption: Hashable, Sendable {
    /// For `--print-configuration`, without the query of an address.
    let text: String
    private let parsed: Result<IdentityProvider, Problem>

    /// An error of the option's parser would show the whole value, which may contain a secret by mistake.
    fileprivate struct Problem: Error, Hashable {
        var message: String

        init(_ message: String) { self.message = "--identity-provider: \(message)" }
    }

    @Sendable static func parse(_ text: String) -> IdentityProviderOption {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        return IdentityProviderOption(
            text: words.map(shown).joined(separator: " "),
            parsed: Result { () throws(Problem) in try provider(words) })
    }

    /// - Throws: `ValidationError`, without the option's value.
    func provider() throws -> IdentityProvider {
        do { return try parsed.get() } catch { throw ValidationError(error.message) }
    }

    /// A preset or a setting, with its address as logs may show it.
    private static func shown(_ word: String) -> String {
        guard let start = word.range(of: "http"), let url = URL(string: String(word[start.lowerBound...])),
            url.host() != nil
        else { return word }
        return word[..<start.lowerBound] + url.shownAddress
    }

    private static func provider(_ words: [String]) throws(Problem) -> IdentityProvider {
        var settings: [String: [String]] = [:]
        for word in words.dropFirst() {
            let sides = word.split(separator: "=", maxSplits: 1).map(String.init)
            let name = sides.first ?? ""
            guard Self.names.contains(name), sides.count == (name == "join-by-email" ? 1 : 2) else {
                throw Problem("it has an unknown setting. The settings are \(Self.explained).")
            }
            settings[name, default: []] += sides.dropFirst()
        }
        var provider = try preset(words.first ?? "", audiences: Set(settings["audience"] ?? []))
        try provider.apply(settings)
        return provider
    }

    static let explained =
        "audience=ID, name=NAME, keys=URL|FILE, secret=FILE, algorithm=NAME, nonce=RULE and join-by-email"
    private static let names = ["audience", "name", "keys", "secret", "algorithm", "nonce", "join-by-email"]

    private static func preset(_ word: String, audiences: Set<String>) throws(Problem) -> IdentityProvider {
        let sides = word.split(separator: ":", maxSplits: 1).map(String.init)
        var provider: IdentityProvider
        switch (sides.first, sides.dropFirst().first) {
        case ("apple", nil): provider = .apple(audiences: audiences)
        case ("google", nil): provider = .google(audiences: audiences)
        case ("firebase", let project?): provider = .firebase(project: project)
        case ("supabase", let address?):
            guard let url = URL(string: address), url.host() != nil else {
                throw Problem("supabase: needs the URL of a Supabase project.")
            }
            provider = .supabase(url)
        case ("oidc", let issuer?):
            provider = IdentityProvider(
                name: URL(string: issuer)?.host() ?? "oidc", issuer: issuer, audiences: audiences)
        default:
            throw Problem(
                """
                it must begin with apple, google, firebase:PROJECT, supabase:URL or oidc:ISSUER, followed by settings: \
                \(explained).
                """)
        }
        if !audiences.isEmpty { provider.audiences = audiences }
        guard !provider.audiences.isEmpty else {
            throw Problem("\(provider.name) needs audience=ID, the id that the provider has for your app.")
        }
        return provider
    }
}

extension IdentityProvider {
    fileprivate mutating func apply(_ settings: [String: [String]]) throws(IdentityProviderOption.Problem) {
        if let name = settings["name"]?.last { self.name = name }
        if let place = settings["keys"]?.last {
            let url = URL(string: place).flatMap { $0.scheme == nil ? nil : $0 }
            keys = url.map { .url($0) } ?? .file(URL(filePath: place))
            if url == nil { try Self.check(file: place, of: "keys") }
        }
        if let file = settings["secret"]?.last {
            guard !signsWithPublishedKeys else {
                throw .init("secret is not for \(issuer), which signs with keys that it publishes. Remove secret.")
            }
            try Self.check(file: file, of: "secret")
            (keys, algorithms) = (.secret(file: URL(filePath: file)), [.hs256])
        }
        if let names = settings["algorithm"] {
            algorithms = []
            for name in names {
                guard let algorithm = IdentityAlgorithm(rawValue: name) else {
                    let known = IdentityAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                    throw .init("algorithm must be one of \(known).")
                }
                algorithms.insert(algorithm)
            }
        }
        if let rule = settings["nonce"]?.last {
            guard let rule = NonceRule(rawValue: rule) else {
                let known = NonceRule.allCases.map(\.rawValue).joined(separator: ", ")
                throw .init("nonce must be one of \(known).")
            }
            nonce = rule
        }
        joinsByEmail = settings["join-by-email"] != nil
    }

    /// Errors do not show the path, which may be a secret by mistake.
    private static func check(file: String, of setting: String) throws(IdentityProviderOption.Problem) {
        if FileManager.default.isReadableFile(atPath: file) { return }
        throw .init("\(setting) must be the path of a file, and this file cannot be read.")
    }
}
