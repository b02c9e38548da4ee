// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
public import OptimistCore

extension OptimistError.Code {
    /// The password is too short for this server.
    public static let weakPassword = Self("session.weakPassword")
    /// The password is one of those that attackers try first.
    public static let commonPassword = Self("session.commonPassword")
    /// The password is the e-mail address, or its first part.
    public static let passwordIsAddress = Self("session.passwordIsAddress")
    /// The server cannot take this password: it is too long, say.
    public static let invalidPassword = Self("session.invalidPassword")
    /// An account has this e-mail address already.
    public static let emailTaken = Self("session.emailTaken")
    /// This is no e-mail address.
    public static let invalidEmail = Self("session.invalidEmail")
    /// The server takes no new accounts.
    public static let signUpClosed = Self("session.signUpClosed")
    /// Signing up takes an invitation, and none was given.
    public static let invitationNeeded = Self("session.invitationNeeded")
    /// The invitation was used already, or has expired.
    public static let invalidInvitation = Self("session.invalidInvitation")
    /// The password that was asked for once more is not that of the account.
    public static let wrongPassword = Self("session.wrongPassword")
    /// The reset token was used already, or has expired.
    public static let invalidReset = Self("session.invalidReset")
    /// The server sends no reset tokens.
    public static let resetUnavailable = Self("session.resetUnavailable")
    /// The account has no such session.
    public static let unknownSession = Self("session.unknownSession")
    /// The server did not do what was asked of an account, and gives no reason that this version knows.
    public static let accountRequestRefused = Self("session.accountRequestRefused")
    /// The server could not do what was asked of an account just now, or its answer makes no sense.
    public static let accountRequestFailed = Self("session.accountRequestFailed")
}

extension OptimistError {
    /// What the server gave as its reason for refusing a sign-up, a sign-in or a change of the account: `email_taken`, say.
    ///
    /// An open set. A reason that this version of the package knows is also the error's ``code``; look here for others.
    /// Nil: the server gave none.
    public var serverReason: String? { (cause as? ServerRefusal)?.reason }

    /// Reads why the server refused something that has to do with accounts.
    ///
    /// - Parameters:
    ///   - head: The head of an answer that is not a success.
    ///   - code: What it is if the server gives no reason that is known here.
    ///   - sentence: The sentence for that.
    static func refusal(
        _ head: HTTPResponse, _ body: [UInt8], else code: Code, _ sentence: String
    ) -> OptimistError {
        let reason = Refusal(body)?.reason
        let known = reason.flatMap { knownReasons[$0] } ?? (code: code, sentence: sentence)
        return OptimistError(known.code, known.sentence, cause: reason.map(ServerRefusal.init))
    }

    /// > Source: Documentation/Protocol.md, "Accounts and tokens".
    private static let knownReasons: [String: (code: Code, sentence: String)] = [
        "weak_password": (.weakPassword, "The password is too short. Choose one of at least 8 characters."),
        "common_password": (
            .commonPassword, "This is one of the most common passwords, which attackers try first. Choose another."
        ),
        "password_is_address": (
            .passwordIsAddress, "The password is the e-mail address, or its first part. Choose another."
        ),
        "invalid_password": (.invalidPassword, "The server cannot take this password. Choose a shorter one."),
        "email_taken": (
            .emailTaken, "There is an account with this e-mail address already. Sign in, or use another address."
        ),
        "invalid_email": (.invalidEmail, "This is no e-mail address. Look for a typing mistake."),
        "sign_up_closed": (.signUpClosed, "This server takes no new accounts."),
        "invitation_needed": (.invitationNeeded, "Signing up here takes an invitation."),
        "invalid_invitation": (
            .invalidInvitation, "This invitation was used already, or has expired. Ask for another."
        ),
        "wrong_password": (.wrongPassword, "The password is wrong."),
        "invalid_reset": (.invalidReset, "This token was used already, or has expired. Ask for another."),
        "reset_unavailable": (
            .resetUnavailable, "This server sends no messages for forgotten passwords. Ask whoever runs it."
        ),
    ]
}

/// Carries the server's reason inside an `OptimistError`.
struct ServerRefusal: Error {
    let reason: String
}
