// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Why no complete answer arrived, and how far the request got.
public struct TransportError: Error, Sendable {
    /// The kind of failure.
    public let kind: Kind
    /// How far the request got.
    public let phase: Phase
    /// The underlying library's error, or nil. Only `debugDescription` shows it.
    public let cause: (any Error)?

    /// Makes an error, for a custom transport.
    public init(_ kind: Kind, _ phase: Phase, cause: (any Error)? = nil) {
        self.kind = kind
        self.phase = phase
        self.cause = cause
    }

    /// The kind of failure. An open set: treat an unknown kind as ``broken``.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Makes a kind from its text, by which kinds are compared.
        public init(_ description: String) { self.description = description }

        /// No server listens at the address.
        public static let refused = Self("refused")
        /// The host name cannot be resolved.
        public static let unresolvable = Self("unresolvable")
        /// There is no route to the host, usually because there is no network.
        public static let unreachable = Self("unreachable")
        /// The server could not prove its identity, or the TLS handshake failed. The port may not use TLS at all.
        public static let untrusted = Self("untrusted")
        /// The request exceeded a timeout.
        public static let timedOut = Self("timedOut")
        /// The connection was lost, or the answer is not valid HTTP.
        public static let broken = Self("broken")
        /// The body is larger than the caller accepts.
        public static let tooLarge = Self("tooLarge")
        /// The transport cannot send the request, for example because of its scheme or a header field.
        public static let unsupported = Self("unsupported")
        /// The body has already been read.
        public static let alreadyRead = Self("alreadyRead")
    }

    /// How far a request got. It determines whether it may be sent again.
    public enum Phase: Sendable {
        /// No byte reached the server: always safe to retry.
        case notSent
        /// The server may have processed the request.
        case maybeProcessed
        /// The head of the answer has arrived, so the server has processed the request.
        case responseStarted
    }
}

extension TransportError {
    /// One sentence that is safe to log and to show. Switch on ``kind`` instead of comparing the text.
    public var message: String {
        switch kind {
        case .refused: "The server does not accept connections right now."
        case .unresolvable: "The address of the server could not be found."
        case .unreachable: "The server cannot be reached. This device may be offline."
        case .untrusted:
            "The server could not prove its identity or does not use TLS at this port, so nothing was sent."
        case .timedOut where phase == .notSent: "The request could not be sent in time."
        case .timedOut: "The server took too long to answer."
        case .tooLarge: "The server's answer is larger than the app accepts."
        case .unsupported: "The request cannot be sent as it is."
        case .alreadyRead: "The answer has already been read. It can be read only once."
        default: "The connection to the server was lost."
        }
    }
}

extension TransportError: LocalizedError {
    public var errorDescription: String? { message }

    public var recoverySuggestion: String? {
        switch phase {
        case _ where isLasting: nil
        case .notSent: "The request was not sent, so it is safe to try again."
        case .maybeProcessed: "The server may have received the request. Check before you send it again."
        case .responseStarted: "Try again."
        }
    }
}

extension TransportError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Such as `transport.refused (notSent): The server does not accept connections right now.`
    public var description: String { "transport.\(kind) (\(phase)): \(message)" }

    public var debugDescription: String {
        cause.map { "\(description) (cause: \(String(reflecting: $0)))" } ?? description
    }
}
