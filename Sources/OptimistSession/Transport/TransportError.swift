// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Why no whole answer came, and how far the request had got.
public struct TransportError: Error, Sendable {
    /// The kind of trouble.
    public let kind: Kind
    /// How far the request had got.
    public let phase: Phase
    /// The error of the library below, or nil. Only `debugDescription` shows it.
    public let cause: (any Error)?

    /// Makes an error, for a transport of your own.
    public init(_ kind: Kind, _ phase: Phase, cause: (any Error)? = nil) {
        self.kind = kind
        self.phase = phase
        self.cause = cause
    }

    /// The kind of trouble, as an open set: treat a kind that you do not know as ``broken``.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Makes a kind from its text, which is all that two kinds are compared by.
        public init(_ description: String) { self.description = description }

        /// Nothing listens at that address.
        public static let refused = Self("refused")
        /// The host's name has no address, or there is no way to ask.
        public static let unresolvable = Self("unresolvable")
        /// There is no route to the host: most often, no network at all.
        public static let unreachable = Self("unreachable")
        /// The other side could not prove who it is, or no common encryption was found: it may speak none at this port.
        public static let untrusted = Self("untrusted")
        /// It took longer than the request allows.
        public static let timedOut = Self("timedOut")
        /// The connection was lost, or what came over it is no HTTP.
        public static let broken = Self("broken")
        /// The body is larger than the caller accepts.
        public static let tooLarge = Self("tooLarge")
        /// The request itself cannot be sent: a scheme or a header field that the transport does not know.
        public static let unsupported = Self("unsupported")
        /// The body was read before. It comes once.
        public static let alreadyRead = Self("alreadyRead")
    }

    /// How far the request had got. It decides what may be sent again.
    public enum Phase: Sendable {
        /// No byte of it reached the server: always safe to send again.
        case notSent
        /// The server may have acted on it.
        case maybeProcessed
        /// The head of the answer has arrived, so the server has acted on it.
        case responseStarted
    }
}

extension TransportError {
    /// One sentence that is safe to log and to show. Switch on ``kind``, not on this.
    public var message: String {
        switch kind {
        case .refused: "The server accepts no connections just now."
        case .unresolvable: "The address of the server could not be found."
        case .unreachable: "The server cannot be reached. This device may be offline."
        case .untrusted:
            "The server could not prove who it is, or speaks no TLS at this address and port, so nothing was sent."
        case .timedOut where phase == .notSent: "The request could not be sent in time."
        case .timedOut: "The server took too long to answer."
        case .tooLarge: "The answer of the server is larger than the app accepts."
        case .unsupported: "The request cannot be sent as it is."
        case .alreadyRead: "The answer was read before, and it comes only once."
        default: "The connection to the server was lost."
        }
    }
}

extension TransportError: LocalizedError {
    public var errorDescription: String? { message }

    public var recoverySuggestion: String? {
        switch phase {
        case _ where isLasting: nil
        case .notSent: "Nothing was sent, so it is safe to try again."
        case .maybeProcessed: "The server may have received the request. Check before you send it again."
        case .responseStarted: "Try again."
        }
    }
}

extension TransportError: CustomStringConvertible, CustomDebugStringConvertible {
    /// As in `transport.refused (notSent): The server accepts no connections just now.`
    public var description: String { "transport.\(kind) (\(phase)): \(message)" }

    public var debugDescription: String {
        cause.map { "\(description) (cause: \(String(reflecting: $0)))" } ?? description
    }
}
