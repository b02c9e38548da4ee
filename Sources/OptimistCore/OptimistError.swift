// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Why an operation failed, and what can be done about it.
///
/// Being offline is a state, not an error: no function throws because the device is offline.
public struct OptimistError: Error, Sendable {
    /// What happened. Compare the code with the constants.
    public let code: Code
    /// One sentence that is safe to log and to show: it never contains a user's text or a secret.
    public let message: String
    /// What the app or its user can do about it.
    public let remedy: Remedy
    /// The underlying error, or nil. Only `debugDescription` shows it.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What happened.
    ///   - message: One sentence that is safe to log and to show, without a user's text or secrets.
    ///   - remedy: Default: none.
    ///   - cause: The underlying error. Default: nil.
    public init(_ code: Code, _ message: String, remedy: Remedy = .none, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// What happened. An open set: a minor release may add codes. Each module declares its own constants.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Makes a code. Two codes with the same text are equal, so begin the text with your own prefix.
        public init(_ description: String) { self.description = description }
    }

    /// The remedy of an error. A closed set, so that an app can draw one button for each.
    public enum Remedy: Equatable, Sendable {
        /// The operation may succeed if retried after this time, not sooner.
        case retry(after: Duration)
        /// The user must sign in again.
        case signIn
        /// The user must free space on the device.
        case freeSpace
        /// The user must update the app.
        case update
        /// Neither the app nor its user can do anything, or the program has a bug.
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
        case .retry: "This will be retried automatically."
        case .signIn: "Sign in again to continue. Nothing you wrote is lost."
        case .freeSpace: "Free some space on this device, then try again."
        case .update: "Update the app and open it again. Nothing you wrote is lost."
        case .none: nil
        }
    }
}
