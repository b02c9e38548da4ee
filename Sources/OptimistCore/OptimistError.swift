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
    public let remedy: Remedy
    /// The error below this one. It appears in `debugDescription` only.
    public let cause: (any Error)?

    public init(_ code: Code, _ message: String, remedy: Remedy = .none, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// An open set: a minor release may add some. Each module adds its own constants beside what throws them.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }
    }

    /// A closed set on purpose: an app can draw one button for each.
    public enum Remedy: Equatable, Sendable {
        case retry(after: Duration)
        case signIn, freeSpace, update, none
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
