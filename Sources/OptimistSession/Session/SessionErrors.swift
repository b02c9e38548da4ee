// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

extension OptimistError.Code {
    /// No user is signed in, or the session has ended. The remedy is to sign in.
    public static let signedOut = Self("session.signedOut")
    /// The access token was refused, and so was the one fetched after it. The cause is a ``RefusedAnswer``.
    public static let credentialRefused = Self("session.credentialRefused")
    /// New tokens could not be fetched and will be asked for later.
    public static let refreshPostponed = Self("session.refreshPostponed")
    /// The server did not accept this e-mail address and password.
    public static let signInRefused = Self("session.signInRefused")
    /// The server's answer to a sign-in could not be read or was a failure of its own.
    public static let signInFailed = Self("session.signInFailed")
    /// Another sign-in or a sign-out was asked for before this one was answered.
    public static let signInSuperseded = Self("session.signInSuperseded")
    /// The address is on another origin than the server's, so no credential may go there.
    public static let foreignOrigin = Self("session.foreignOrigin")
    /// The server's address has no scheme or no host, or more than that and a port.
    public static let badServerAddress = Self("session.badServerAddress")
    /// The server's address is not encrypted and not on this machine.
    public static let plaintextRefused = Self("session.plaintextRefused")
    /// The credentials cannot be read before the device is unlocked.
    public static let credentialsLocked = Self("credentials.locked")
    /// Others on this machine could read the credentials.
    public static let credentialsInsecure = Self("credentials.insecure")
    /// The credentials are there but make no sense, or the system refuses to show them.
    public static let credentialsUnreadable = Self("credentials.unreadable")
    /// The file for an upload is missing or cannot be read. Nothing was sent.
    public static let fileUnreadable = Self("session.fileUnreadable")
    /// The file of a download cannot be written. A file that was there before stays.
    public static let fileUnwritable = Self("session.fileUnwritable")
    /// The credentials could not be kept.
    public static let credentialsUnwritable = Self("credentials.unwritable")
}

extension OptimistError {
    static func signedOut(_ reason: SignOutReason) -> Self {
        OptimistError(.signedOut, reason.message, remedy: .signIn, cause: SessionEnded(reason: reason))
    }

    static func refreshPostponed(by delay: Duration) -> Self {
        OptimistError(
            .refreshPostponed, "The session could not be renewed just now.", remedy: .retry(after: max(delay, .zero)))
    }

    static func unreadable(_ file: URL, _ cause: any Error) -> Self {
        OptimistError(
            .fileUnreadable, "The file \(file.lastPathComponent) is missing or cannot be read, so it was not sent.",
            cause: cause)
    }

    static func unwritable(_ file: URL, _ cause: (any Error)?) -> Self {
        OptimistError(
            .fileUnwritable,
            "The file \(file.lastPathComponent) cannot be written. Make its folder first, or free some space.",
            remedy: .freeSpace, cause: cause)
    }

    static let credentialRefused = OptimistError(
        .credentialRefused, "The server refused the credentials it had just given.", remedy: .retry(after: .seconds(60))
    )

    /// Why the session ended, when that is what this error is about.
    public var signOutReason: SignOutReason? { (cause as? SessionEnded)?.reason }
}

/// Carries the reason inside an `OptimistError`.
struct SessionEnded: Error {
    let reason: SignOutReason
}
