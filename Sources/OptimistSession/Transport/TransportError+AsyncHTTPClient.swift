// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP2
    import NIOPosix
    import NIOSSL

    /// Converts the errors of AsyncHTTPClient and of the libraries that it uses.
    extension TransportError {
        /// - Parameter phase: The phase to report, unless the error itself shows that nothing was sent.
        /// - Throws: `CancellationError` if the task was cancelled.
        static func translating(_ error: any Error, _ phase: Phase) throws -> TransportError {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            switch error {
            case let error as TransportError:
                return error
            case let error as NIOConnectionError:
                return TransportError(kind(of: error), .notSent, cause: error)
            case let error as IOError where error.errnoCode == ECONNREFUSED:
                return TransportError(.refused, .notSent, cause: error)
            case let error as ChannelError:
                if case .connectTimeout = error { return TransportError(.timedOut, .notSent, cause: error) }
                return TransportError(.broken, phase, cause: error)
            case let error as HTTPClientError:
                return TransportError(error, phase)
            case let error as NIOSSLError:
                return TransportError(error, phase)
            case is NIOSSLExtraError:
                return TransportError(.untrusted, .notSent, cause: error)
            // A server that shuts down refuses the streams that it has not processed.
            case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
                return TransportError(.broken, phase == .responseStarted ? phase : .notSent, cause: error)
            default:
                return TransportError(.broken, phase, cause: error)
            }
        }

        /// The kind of a failure to connect to any of a host's addresses.
        private static func kind(of error: NIOConnectionError) -> Kind {
            let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
            if codes.contains(ECONNREFUSED) { return .refused }
            if !codes.isEmpty { return .unreachable }
            return error.connectionErrors.isEmpty ? .unresolvable : .timedOut
        }

        private init(_ error: NIOSSLError, _ phase: Phase) {
            switch error {
            case .handshakeFailed(.sslError([.eofDuringHandshake])), .handshakeFailed(.syscallError),
                .handshakeFailed(.zeroReturn):
                self.init(.broken, .notSent, cause: error)
            case .handshakeFailed, .cannotMatchULabel, .noCertificateToValidate, .unableToValidateCertificate,
                .cannotFindPeerIP:
                self.init(.untrusted, .notSent, cause: error)
            default:
                self.init(.broken, phase, cause: error)
            }
        }

        private init(_ error: HTTPClientError, _ phase: Phase) {
            switch error {
            case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
                self.init(.timedOut, .notSent, cause: error)
            case .deadlineExceeded, .readTimeout, .writeTimeout:
                self.init(.timedOut, phase, cause: error)
            case .invalidURL, .emptyHost, .emptyScheme, .traceRequestWithBody, .alreadyShutdown:
                self.init(.unsupported, .notSent, cause: error)
            default:
                self.init(.broken, phase, cause: error)
            }
        }
    }
#endif
