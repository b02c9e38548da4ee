// This source file is part of the Optimist open source project, under the MIT licence.

/// Why the server refuses an identity token. The raw value is the `reason` of the answer.
enum TokenRefusal: String, Error, CaseIterable {
    case tooLarge = "token_too_large"
    /// The token is not a compact JWS with a JSON object as header and payload.
    case malformed = "token_malformed"
    /// The header's `typ` is not `JWT`, as in an access token.
    case wrongType = "token_type"
    /// The header has `crit`, or a payload that is not encoded.
    case critical = "token_critical"
    /// No provider of this server has the token's `iss`.
    case unknownIssuer = "token_issuer"
    /// The algorithm is not the key's, or the provider may not use it.
    case wrongAlgorithm = "token_algorithm"
    /// The provider does not publish the key that the token names.
    case unknownKey = "token_key"
    case badSignature = "token_signature"
    case wrongAudience = "token_audience"
    /// The token was issued to another client of the provider (`azp`).
    case wrongParty = "token_party"
    /// `exp` is missing or has passed.
    case expired = "token_expired"
    /// `exp` is too far away: the server would have to remember the token for too long.
    case tooLong = "token_lifetime"
    /// `nbf` has not come yet.
    case notYetValid = "token_not_yet"
    /// `iat` is missing or in the future.
    case wrongIssueTime = "token_issued"
    case wrongNonce = "token_nonce"
    /// `sub` is missing, empty, or too long.
    case wrongSubject = "token_subject"
    /// The user signed in too long ago to confirm a deletion.
    case stale = "token_stale"
    /// The token has been used before.
    case used = "token_used"

    var sentence: String {
        switch self {
        case .tooLarge: "The identity token is too large."
        case .malformed: "This is not an identity token."
        case .wrongType: "This is another kind of token, not an identity token."
        case .critical: "The identity token needs an extension that this server does not support."
        case .unknownIssuer: "This server does not accept tokens of this issuer."
        case .wrongAlgorithm: "The identity token's algorithm is not the algorithm of its key."
        case .unknownKey: "The provider does not publish the key of this identity token."
        case .badSignature: "The identity token's signature is not valid."
        case .wrongAudience: "The identity token is for another app."
        case .wrongParty: "The identity token was issued to another app."
        case .expired: "The identity token has expired. Sign in with the provider again."
        case .tooLong: "The identity token is valid for too long."
        case .notYetValid: "The identity token is not valid yet. Check the clocks of the provider and this server."
        case .wrongIssueTime: "The identity token does not say when it was issued, or says a time in the future."
        case .wrongNonce: "The identity token has another nonce."
        case .wrongSubject: "The identity token does not name a user."
        case .stale: "The identity token is too old for this. Sign in with the provider again."
        case .used: "The identity token was already used. Sign in with the provider again."
        }
    }
}

/// The server does not have the provider's keys and could not fetch them.
struct KeysUnavailable: Error {}

extension AuthRefusal {
    /// > Source: RFC 8693 §2.2.2: every refusal of a `subject_token` is an `invalid_request`.
    init(_ refusal: TokenRefusal) { self = .invalidRequest(refusal.sentence, reason: refusal.rawValue) }

    static let keysUnavailable = Self(
        status: 503, error: "temporarily_unavailable",
        description: "The server cannot reach the provider of this identity right now. Try again in a moment.",
        reason: "keys_unavailable", retryAfterSeconds: 10)
}
