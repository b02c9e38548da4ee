// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Why an operation did not finish, and what can be done about it.
///
/// Being offline is a state and not an error: nothing here is thrown for it.
public struct OptimistError: Error, Sendable {
    /// What happened. Compare with the constants.
    public let code: Code
    /// One sentence that is safe to log and to show: it never contains what people wrote, nor a secret.
    public let message: String
    /// What the app or its user can do about it.
    public let remedy: Remedy
    /// The error below this one, or nil. Only `debugDescription` shows it.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What happened.
    ///   - message: One sentence that an app may show and log: no user's text and no secret.
    ///   - remedy: Default: nothing can be done.
    ///   - cause: The error below this one. Default: none.
    public init(_ code: Code, _ message: String, remedy: Remedy = .none, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// What happened, as an open set: a minor release may add codes. Each module adds its own constants beside what
    /// throws them.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Makes a code from its text, which is all that two codes are compared by. Use a prefix of your own.
        public init(_ description: String) { self.description = description }
    }

    /// The remedy of an error. A closed set on purpose: an app can draw one button for each.
    public enum Remedy: Equatable, Sendable {
        /// The same may work later, not sooner than after this time.
        case retry(after: Duration)
        /// The user signs in again.
        case signIn
        /// The user frees some space on the device.
        case freeSpace
        /// The user updates the app.
        case update
        /// There is nothing that the app or its user can do, or the program needs mending.
        case none
    }
}

extension OptimistError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(code): \(message)" }

    public var debugDescription: String {
        cause.map { "\(description) (cause: \(String(reflecting: $0)))" } ?? description
    }
}

extension OptimistError: LocalizedError {
    public var errorDescription: String? { message }

    public var recoverySuggestion: String? {
        switch remedy {
        case .retry: "It will be tried again by itself."
        case .signIn: "Sign in again to go on. Nothing you wrote is lost."
        case .freeSpace: "Free some space on this device, then try again."
        case .update: "Update the app, then open it again. Nothing you wrote is lost."
        case .none: nil
        }
    }
}
