// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore

/// A service whose users may sign in: an OpenID Connect provider.
///
/// An app trades the provider's identity token for a session of this server, once. The server never stores the token.
///
/// > Source: OpenID Connect Core 1.0, RFC 8693.
public struct IdentityProvider: Hashable, Sendable {
    /// Where the provider's keys are.
    public enum Keys: Hashable, Sendable {
        /// The `jwks_uri` of the issuer's `/.well-known/openid-configuration`.
        case discovery
        /// A set of keys at an address. The address of a file is the same as ``file(_:)``.
        case url(URL)
        /// A set of keys in a file, which the server reads when it starts.
        case file(URL)
        /// A file with the secret that the provider uses for HS256, at least 32 bytes, read when the server starts.
        /// White space around it is ignored. Apple, Google and Firebase do not use one.
        case secret(file: URL)
    }

    /// How a token's nonce relates to the app's.
    public enum NonceRule: String, Hashable, Sendable, CaseIterable {
        /// The token has the app's nonce. If one of them lacks a nonce, the other must lack it too.
        case plain
        /// The token has the SHA-256 of the app's nonce, in hexadecimal digits. Otherwise as ``plain``.
        case sha256
        /// As ``plain``, but a token with a nonce is accepted from an app that does not know it, because some libraries
        /// add a nonce themselves.
        case plainIfGiven = "plain-if-given"
    }

    /// A short name for users and logs, such as `apple`.
    public var name: String
    /// The `iss` of the tokens, exactly.
    public var issuer: String
    /// The ids that the provider has for your apps: bundle ids, client ids. A token must be for one of them.
    public var audiences: Set<String>
    /// Where the keys are. Default: ``Keys/discovery``.
    public var keys: Keys
    /// The algorithms that the provider may use. Default: RS256, PS256, ES256 and EdDSA, or HS256 with a secret.
    public var algorithms: Set<IdentityAlgorithm>
    /// Default: ``NonceRule/plain``.
    public var nonce: NonceRule
    /// Whether the server trusts the addresses that the provider vouches for: it stores them, and an unknown identity
    /// joins an account with the same address and without a password. Only for providers that you trust with every
    /// account. Default: false, the provider's accounts have no address.
    public var joinsByEmail: Bool

    /// Makes a provider. The server checks it when it starts.
    public init(
        name: String, issuer: String, audiences: Set<String>, keys: Keys = .discovery,
        algorithms: Set<IdentityAlgorithm>? = nil, nonce: NonceRule = .plain, joinsByEmail: Bool = false
    ) {
        self.name = name
        self.issuer = issuer
        self.audiences = audiences
        self.keys = keys
        self.nonce = nonce
        self.joinsByEmail = joinsByEmail
        let isSecret = if case .secret = keys { true } else { false }
        self.algorithms = algorithms ?? (isSecret ? [.hs256] : [.rs256, .ps256, .es256, .edDSA])
    }
}

extension IdentityProvider {
    /// Sign in with Apple.
    ///
    /// - Parameter audiences: The apps' bundle ids, and the services id of a web site.
    public static func apple(audiences: Set<String>) -> Self {
        Self(
            name: "apple", issuer: "https://appleid.apple.com", audiences: audiences,
            keys: url("https://appleid.apple.com/auth/keys"), algorithms: [.rs256, .es256], nonce: .sha256)
    }

    /// Sign in with Google.
    ///
    /// - Parameter audiences: The OAuth client ids, also of the apps if their tokens are for a server's client id.
    public static func google(audiences: Set<String>) -> Self {
        Self(
            name: "google", issuer: "https://accounts.google.com", audiences: audiences,
            keys: url("https://www.googleapis.com/oauth2/v3/certs"), algorithms: [.rs256], nonce: .plainIfGiven)
    }

    /// Firebase Authentication.
    ///
    /// - Parameter project: The project's id.
    public static func firebase(project: String) -> Self {
        Self(
            name: "firebase", issuer: "https://securetoken.google.com/\(project)", audiences: [project],
            keys: url(
                "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"),
            algorithms: [.rs256])
    }

    /// Supabase Auth.
    ///
    /// - Parameters:
    ///   - project: The project's URL, such as `https://abc.supabase.co`.
    ///   - secret: A file with the JWT secret of an older project. Default: nil, the project publishes its keys.
    public static func supabase(_ project: URL, secret: URL? = nil) -> Self {
        let issuer = project.absoluteString.trimmingSuffix("/") + "/auth/v1"
        let keys = secret.map { Keys.secret(file: $0) } ?? url(issuer + "/.well-known/jwks.json")
        return Self(name: "supabase", issuer: issuer, audiences: ["authenticated"], keys: keys)
    }

    private static func url(_ text: String) -> Keys { URL(string: text).map { .url($0) } ?? .discovery }

    /// - Throws: `OptimistError` with code `badIdentityProvider`. The message says what to change.
    func check() throws {
        func bad(_ sentence: String) -> OptimistError {
            OptimistError(.badIdentityProvider, "The identity provider \(name) cannot be used: \(sentence)")
        }
        guard (1...64).contains(name.utf8.count), OutsideText.isClean(name) else { throw bad("its name is not valid.") }
        guard (1...512).contains(issuer.utf8.count), OutsideText.isClean(issuer) else {
            throw bad("its issuer is not valid.")
        }
        guard !audiences.isEmpty, !audiences.contains("") else {
            throw bad("name at least one audience: the id that the provider has for your app.")
        }
        guard !algorithms.isEmpty else { throw bad("name at least one algorithm.") }
        if case .secret = keys {
            guard !signsWithPublishedKeys else {
                throw bad("it signs with keys that it publishes, and not with a secret. Remove the secret.")
            }
            guard algorithms == [.hs256] else { throw bad("a secret is for HS256 only.") }
        } else if algorithms.contains(.hs256) {
            throw bad("HS256 needs a secret.")
        }
        let isSafe =
            switch keys {
            case .discovery: discovery.map(Self.isPrivate) ?? false
            case .url(let url): url.isFileURL || Self.isPrivate(url)
            case .file(let file), .secret(let file): file.isFileURL
            }
        guard isSafe else { throw bad("its keys must be at an https URL.") }
    }

    /// Whether the issuer never signs with a shared secret: Apple, Google or Firebase. A server that took a secret for
    /// it would accept tokens of everyone who has the secret, and none of the issuer's.
    package var signsWithPublishedKeys: Bool {
        let hosts = ["appleid.apple.com", "accounts.google.com", "securetoken.google.com"]
        return URL(string: issuer)?.host().map { hosts.contains($0.lowercased()) } ?? false
    }

    /// > Source: OpenID Connect Discovery 1.0 §4.
    var discovery: URL? { URL(string: issuer.trimmingSuffix("/") + "/.well-known/openid-configuration") }

    /// Whether an answer from the address cannot be changed on its way: HTTPS, or this machine.
    static func isPrivate(_ url: URL) -> Bool {
        guard let host = url.host(), !host.isEmpty else { return false }
        return url.scheme == "https" || url.scheme == "http" && ServerConfiguration.isLoopback(host)
    }
}

extension OptimistError.Code {
    /// An identity provider's settings contradict each other, or a file of it cannot be read.
    public static let badIdentityProvider = Self("badIdentityProvider")
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
