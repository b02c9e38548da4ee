// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import HTTPTypes
    import NIOSSL
    import OptimistTesting

    @testable import OptimistSession

    /// The transports that make the same promises.
    enum Carrier: CaseIterable, Sendable {
        case asyncHTTPClient, urlSession, inMemory

        /// Transports that use a network.
        static let overSockets: [Self] = [.asyncHTTPClient, .urlSession]

        /// On Linux, `URLSession` reads ahead of its reader, and blocks when many tasks are cancelled together. These
        /// transports do not.
        static let patient: [Self] = [.asyncHTTPClient, .inMemory]

        @discardableResult
        func withTransport<Result>(
            to peer: Peer, _ work: (any Transport, _ authority: String) async throws -> Result
        ) async throws -> Result {
            if self == .inMemory {
                return try await work(InMemoryTransport { try await peer.answer($0) }, "127.0.0.1:1")
            }
            let server = try peer.listen()
            defer { server.close() }
            return try await withTransport { try await work($0, "127.0.0.1:\(server.port)") }
        }

        /// A transport without a peer.
        @discardableResult
        func withTransport<Result>(_ work: (any Transport) async throws -> Result) async throws -> Result {
            switch self {
            case .inMemory: return try await work(InMemoryTransport { _ in throw TransportError(.refused, .notSent) })
            case .urlSession: return try await work(URLSessionTransport())
            case .asyncHTTPClient: return try await Self.with(AsyncHTTPClientTransport(), work)
            }
        }

        /// A transport that trusts every server.
        static func withUnverifiedTLS(_ work: (any Transport) async throws -> Void) async throws {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.certificateVerification = .none
            try await with(AsyncHTTPClientTransport(tls: tls), work)
        }

        private static func with<Result>(
            _ transport: AsyncHTTPClientTransport, _ work: (any Transport) async throws -> Result
        ) async throws -> Result {
            do {
                let result = try await work(transport)
                try await transport.shutdown()
                return result
            } catch {
                try? await transport.shutdown()
                throw error
            }
        }
    }

    extension TransportRequest {
        /// A request with a credential.
        init(
            _ authority: String, _ path: String = "/", method: HTTPRequest.Method = .get, body: String = "",
            headTimeout: Duration = .seconds(300), scheme: String = "http"
        ) {
            self.init(
                head: HTTPRequest(
                    method: method, scheme: scheme, authority: authority, path: path,
                    headerFields: [.authorization: "Bearer abc"]),
                body: Array(body.utf8), headTimeout: headTimeout, isRepeatable: method == .get)
        }
    }
#endif
