// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistServer

/// An identity provider as words: a preset, then its settings. It has no secrets, only the paths of their files.
///
///     apple audience=org.example.app join-by-email
///     oidc:https://login.example.org audience=app name=example algorithm=ES256
struct IdentityProviderOption: Hashable, Sendable {
    let text: String
    let provider: IdentityProvider

    @Sendable static func parse(_ text: String) throws -> IdentityProviderOption {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        var settings: [String: [String]] = [:]
        for word in words.dropFirst() {
            let sides = word.split(separator: "=", maxSplits: 1).map(String.init)
            let name = sides.first ?? ""
            guard Self.names.contains(name), sides.count == (name == "join-by-email" ? 1 : 2) else {
                throw ValidationError(
                    "--identity-provider: \"\(word)\" is not a setting. The settings are \(Self.explained).")
            }
            settings[name, default: []] += sides.dropFirst()
        }
        var provider = try preset(words.first ?? "", audiences: Set(settings["audience"] ?? []))
        try provider.apply(settings)
        return IdentityProviderOption(text: words.joined(separator: " "), provider: provider)
    }

    static let explained =
        "audience=ID, name=NAME, keys=URL|FILE, secret=FILE, algorithm=NAME, nonce=RULE and join-by-email"
    private static let names = ["audience", "name", "keys", "secret", "algorithm", "nonce", "join-by-email"]

    private static func preset(_ word: String, audiences: Set<String>) throws -> IdentityProvider {
        let sides = word.split(separator: ":", maxSplits: 1).map(String.init)
        var provider: IdentityProvider
        switch (sides.first, sides.dropFirst().first) {
        case ("apple", nil): provider = .apple(audiences: audiences)
        case ("google", nil): provider = .google(audiences: audiences)
        case ("firebase", let project?): provider = .firebase(project: project)
        case ("supabase", let address?):
            guard let url = URL(string: address), url.host() != nil else {
                throw ValidationError("--identity-provider: \(address) is not the URL of a Supabase project.")
            }
            provider = .supabase(url)
        case ("oidc", let issuer?):
            provider = IdentityProvider(
                name: URL(string: issuer)?.host() ?? "oidc", issuer: issuer, audiences: audiences)
        default:
            throw ValidationError(
                """
                --identity-provider must begin with apple, google, firebase:PROJECT, supabase:URL or oidc:ISSUER, \
                followed by settings: \(explained).
                """)
        }
        if !audiences.isEmpty { provider.audiences = audiences }
        guard !provider.audiences.isEmpty else {
            throw ValidationError(
                "--identity-provider: \(word) needs audience=ID, the id that the provider has for your app.")
        }
        return provider
    }
}

extension IdentityProvider {
    fileprivate mutating func apply(_ settings: [String: [String]]) throws {
        if let name = settings["name"]?.last { self.name = name }
        if let place = settings["keys"]?.last {
            let url = URL(string: place).flatMap { $0.scheme == nil ? nil : $0 }
            keys = url.map { .url($0) } ?? .file(URL(filePath: place))
        }
        if let file = settings["secret"]?.last { (keys, algorithms) = (.secret(file: URL(filePath: file)), [.hs256]) }
        if let names = settings["algorithm"] {
            algorithms = Set(
                try names.map { name in
                    guard let algorithm = IdentityAlgorithm(rawValue: name) else {
                        let known = IdentityAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                        throw ValidationError("--identity-provider: algorithm=\(name) must be one of \(known).")
                    }
                    return algorithm
                })
        }
        if let rule = settings["nonce"]?.last {
            guard let rule = NonceRule(rawValue: rule) else {
                let known = NonceRule.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--identity-provider: nonce=\(rule) must be one of \(known).")
            }
            nonce = rule
        }
        joinsByEmail = settings["join-by-email"] != nil
    }
}
