// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
public import OptimistCore

extension OptimistError.Code {
    /// The password is too short for this server.
    public static let weakPassword = Self("session.weakPassword")
    /// The password is among those that attackers try first.
    public static let commonPassword = Self("session.commonPassword")
    /// The password is the e-mail address or its local part.
    public static let passwordIsAddress = Self("session.passwordIsAddress")
    /// The server cannot accept this password, for example because it is too long.
    public static let invalidPassword = Self("session.invalidPassword")
    /// An account with this e-mail address already exists.
    public static let emailTaken = Self("session.emailTaken")
    /// The text is not an e-mail address.
    public static let invalidEmail = Self("session.invalidEmail")
    /// The server does not accept new accounts.
    public static let signUpClosed = Self("session.signUpClosed")
    /// Signing up requires an invitation, and none was given.
    public static let invitationNeeded = Self("session.invitationNeeded")
    /// The invitation has already been used or has expired.
    public static let invalidInvitation = Self("session.invalidInvitation")
    /// The password given to confirm a change is wrong.
    public static let wrongPassword = Self("session.wrongPassword")
    /// The reset token has already been used or has expired.
    public static let invalidReset = Self("session.invalidReset")
    /// The server does not send reset tokens.
    public static let resetUnavailable = Self("session.resetUnavailable")
    /// The account does not have this session.
    public static let unknownSession = Self("session.unknownSession")
    /// The server refused an account request, without a reason that this version knows.
    public static let accountRequestRefused = Self("session.accountRequestRefused")
    /// The server could not handle an account request right now, or its answer is unreadable.
    public static let accountRequestFailed = Self("session.accountRequestFailed")
}

extension OptimistError {
    /// The server's reason for refusing a sign-up, sign-in or account change, such as `email_taken`.
    ///
    /// An open set. Reasons that this version knows also have their own ``code``. Nil if the server gave none.
    public var serverReason: String? { (cause as? ServerRefusal)?.reason }

    /// Makes the error for a refused account request.
    ///
    /// - Parameters:
    ///   - head: The head of an unsuccessful answer.
    ///   - code: The code if the server's reason is missing or unknown.
    ///   - sentence: The message for that code.
    static func refusal(
        _ head: HTTPResponse, _ body: [UInt8], else code: Code, _ sentence: String
    ) -> OptimistError {
        let reason = Refusal(body)?.reason
        let known = reason.flatMap { knownReasons[$0] ?? identityReasons[$0] } ?? (code: code, sentence: sentence)
        return OptimistError(known.code, known.sentence, cause: reason.map(ServerRefusal.init))
    }

    /// > Source: Documentation/Protocol.md, "Accounts and tokens".
    private static let knownReasons: [String: (code: Code, sentence: String)] = [
        "weak_password": (.weakPassword, "The password is too short. Choose one of at least 8 characters."),
        "common_password": (
            .commonPassword, "This is one of the most common passwords, which attackers try first. Choose another."
        ),
        "password_is_address": (
            .passwordIsAddress, "The password is the e-mail address or its first part. Choose another."
        ),
        "invalid_password": (.invalidPassword, "The server cannot accept this password. Choose a shorter one."),
        "email_taken": (
            .emailTaken, "An account with this e-mail address already exists. Sign in, or use another address."
        ),
        "invalid_email": (.invalidEmail, "This is not a valid e-mail address. Check it for typos."),
        "sign_up_closed": (.signUpClosed, "This server does not accept new accounts."),
        "invitation_needed": (.invitationNeeded, "You need an invitation to sign up here."),
        "invalid_invitation": (
            .invalidInvitation, "This invitation has already been used or has expired. Ask for a new one."
        ),
        "wrong_password": (.wrongPassword, "The password is wrong."),
        "invalid_reset": (.invalidReset, "This token has already been used or has expired. Ask for a new one."),
        "reset_unavailable": (
            .resetUnavailable, "This server does not send password reset messages. Ask its operator."
        ),
    ]
}

struct ServerRefusal: Error {
    let reason: String
}
