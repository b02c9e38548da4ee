// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistCore
@_spi(Internals) import OptimistWire

/// A receiver of transactions: an HTTP endpoint of your backend.
///
/// The server posts every durable transaction of every account in its scope: at least once, one transaction in each
/// call, in order within each account, also after a restart. Calls are signed as Standard Webhooks specify. An answer
/// with a status from 200 to 299 confirms the transaction. After any other answer, or none, the server calls again
/// after 5 seconds, then 15 seconds, 45 seconds and so on, at most 12 hours, without giving up. Only that account
/// waits, at that receiver. The answer 410 switches the receiver off until `optimist webhook resume`.
///
/// > Source: Standard Webhooks, https://www.standardwebhooks.com.
public struct Webhook: Sendable {
    /// The accounts whose transactions a receiver gets.
    public enum Scope: String, Sendable, CaseIterable {
        /// The persons' own accounts.
        case persons
        /// Spaces and public spaces.
        case spaces
        /// Both.
        case all
    }

    /// Identifies the receiver, and its position in each account: 1 to 40 characters of a-z, 0-9 and `-`. A receiver
    /// with a new name starts with the first transaction of each account.
    public var name: String
    /// `http` or `https`, without a user. Redirects are not followed.
    public var url: URL
    /// One or two secrets. Each call has a signature by each of them, so that a receiver can replace its secret.
    public var secrets: [WebhookSecret]
    /// The types of the rows. Nil: all types. Otherwise other rows are left out, and so are transactions without such
    /// rows.
    public var types: Set<String>?
    /// Default: ``Scope/all``.
    public var scope: Scope
    /// The longest time for an answer. Default: 15 s.
    public var timeout: Duration

    /// Makes a receiver. The server checks it when it starts.
    public init(
        name: String, url: URL, secrets: [WebhookSecret], types: Set<String>? = nil, scope: Scope = .all,
        timeout: Duration = .seconds(15)
    ) {
        self.name = name
        self.url = url
        self.secrets = secrets
        self.types = types
        self.scope = scope
        self.timeout = timeout
    }
}

extension OptimistError.Code {
    /// A webhook, the address of a hook, or a secret of one of them cannot be used. The message does not contain the
    /// secret.
    public static let badWebhook = Self("badWebhook")
}

extension URL {
    /// The address without its query, which may contain secrets.
    package var shownAddress: String {
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.fragment = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }

    /// Whether the server can call the address.
    var canBeCalled: Bool {
        ["http", "https"].contains(scheme ?? "") && !(host() ?? "").isEmpty && user() == nil && password() == nil
    }
}

extension ServerConfiguration {
    /// - Throws: `OptimistError` with code `badWebhook`.
    func checkWebhooks() throws {
        var names: Set<String> = []
        for webhook in webhooks {
            func bad(_ sentence: String) -> OptimistError {
                OptimistError(.badWebhook, "The webhook \(webhook.name) cannot be used: \(sentence)")
            }
            guard webhook.name.wholeMatch(of: /[a-z0-9-]{1,40}/) != nil else {
                throw bad("a name has 1 to 40 characters of a-z, 0-9 and \"-\".")
            }
            guard names.insert(webhook.name).inserted else {
                throw bad("another webhook has this name. Give each its own name.")
            }
            guard webhook.url.canBeCalled else { throw bad("its URL must be an http or https URL without a user.") }
            guard (1...2).contains(webhook.secrets.count) else { throw bad("it needs one or two secrets.") }
            guard webhook.timeout > .zero else { throw bad("its timeout must be positive.") }
            for type in (webhook.types ?? []).sorted() where schema.types[type] == nil {
                throw bad("the schema does not have the type \(type).")
            }
        }
    }
}
