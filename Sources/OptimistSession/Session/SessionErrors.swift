// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore

extension OptimistError.Code {
    /// No user is signed in, or the session has ended. The remedy is to sign in.
    public static let signedOut = Self("session.signedOut")
    /// The server refused the access token and the one fetched after it. The cause is a ``RefusedAnswer``.
    public static let credentialRefused = Self("session.credentialRefused")
    /// New tokens could not be fetched; the session will try again later.
    public static let refreshPostponed = Self("session.refreshPostponed")
    /// The server did not accept this e-mail address and password.
    public static let signInRefused = Self("session.signInRefused")
    /// The server's answer to a sign-in was unreadable or a server error.
    public static let signInFailed = Self("session.signInFailed")
    /// Another sign-in or a sign-out finished first.
    public static let signInSuperseded = Self("session.signInSuperseded")
    /// The address has a different origin than the server, so no credential may be sent there.
    public static let foreignOrigin = Self("session.foreignOrigin")
    /// The server's address lacks a scheme or host, or has more than a scheme, host and port.
    public static let badServerAddress = Self("session.badServerAddress")
    /// The server's address is plain HTTP and not on this machine.
    public static let plaintextRefused = Self("session.plaintextRefused")
    /// The credentials cannot be read until the device is unlocked.
    public static let credentialsLocked = Self("credentials.locked")
    /// Other users of this machine could read the credentials.
    public static let credentialsInsecure = Self("credentials.insecure")
    /// The stored credentials are malformed, or the system refuses access to them.
    public static let credentialsUnreadable = Self("credentials.unreadable")
    /// The file to upload is missing or cannot be read. The request was not sent.
    public static let fileUnreadable = Self("session.fileUnreadable")
    /// The downloaded file cannot be written. An existing file is not changed.
    public static let fileUnwritable = Self("session.fileUnwritable")
    /// The credentials could not be stored.
    public static let credentialsUnwritable = Self("credentials.unwritable")
}

extension OptimistError {
    static func signedOut(_ reason: SignOutReason) -> Self {
        OptimistError(.signedOut, reason.message, remedy: .signIn, cause: SessionEnded(reason: reason))
    }

    static func refreshPostponed(by delay: Duration) -> Self {
        OptimistError(
            .refreshPostponed, "The session could not be renewed right now.", remedy: .retry(after: max(delay, .zero)))
    }

    static func unreadable(_ file: URL, _ cause: any Error) -> Self {
        OptimistError(
            .fileUnreadable, "The file \(file.lastPathComponent) is missing or cannot be read, so it was not sent.",
            cause: cause)
    }

    static func unwritable(_ file: URL, _ cause: (any Error)?) -> Self {
        OptimistError(
            .fileUnwritable,
            "The file \(file.lastPathComponent) cannot be written. Create its folder, or free some space.",
            remedy: .freeSpace, cause: cause)
    }

    static let credentialRefused = OptimistError(
        .credentialRefused, "The server refused the credentials it just issued.", remedy: .retry(after: .seconds(60))
    )

    /// Why the session ended, if that caused this error.
    public var signOutReason: SignOutReason? { (cause as? SessionEnded)?.reason }
}

struct SessionEnded: Error {
    let reason: SignOutReason
}
