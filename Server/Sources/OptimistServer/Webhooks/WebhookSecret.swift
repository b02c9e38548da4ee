// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// A secret that the server and a receiver share, for signatures with HMAC-SHA256. Descriptions do not show it.
///
/// > Source: Standard Webhooks 1.0.0, "Signature scheme".
public struct WebhookSecret: Sendable {
    private let key: SecretKey

    private static let prefix = "whsec_"

    /// Reads a secret.
    ///
    /// - Parameter text: `whsec_`, then 24 to 64 bytes in Base64.
    /// - Throws: `OptimistError` with code `badWebhook`. The message does not contain the text.
    public init(_ text: String) throws {
        let bytes = text.hasPrefix(Self.prefix) ? Data(base64Encoded: String(text.dropFirst(Self.prefix.count))) : nil
        guard let bytes, (24...64).contains(bytes.count) else {
            throw OptimistError(
                .badWebhook,
                """
                A webhook's secret is "whsec_" and 24 to 64 bytes in Base64. `optimist webhook secret` creates one.
                """)
        }
        key = SecretKey(Array(bytes))
    }

    /// The text of a new secret, with 256 random bits.
    package static func make() -> String { prefix + Data(randomBytes(32)).base64EncodedString() }

    /// The value of the header `webhook-signature`: a signature by each secret.
    static func signature(of body: [UInt8], id: String, time: Int64, by secrets: [WebhookSecret]) -> String {
        let signed = Array("\(id).\(time).".utf8) + body
        return secrets.map { "v1,\(Data(HMACSHA256.code(for: signed, key: $0.key)).base64EncodedString())" }
            .joined(separator: " ")
    }
}

extension WebhookSecret: CustomStringConvertible, CustomReflectable {
    public var description: String { "a webhook's secret" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
