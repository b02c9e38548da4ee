// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import AsyncHTTPClient
    import Foundation
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOHTTPCompression
    import NIOPosix

    /// The transport for Linux, on AsyncHTTPClient. Available with the package trait of that name.
    ///
    /// What it does otherwise than its library would by itself:
    /// - It follows no redirect, since one to another host would take the credential with it.
    /// - It goes to http and https only; the library would also open a socket in the file system.
    /// - A refused connection is an error at once; the library would go on trying for ten seconds.
    /// - A kept connection that the server had closed meanwhile is replaced once, for what may be repeated.
    /// - It asks for answers packed with gzip or deflate, unless the request says what it accepts, and unpacks them. One
    ///   that grows to more than 100 times its size is `tooLarge`: that bounds what one read can unpack.
    public final class AsyncHTTPClientTransport: Transport {
        /// One for the whole process, which is never shut down.
        public static let shared = AsyncHTTPClientTransport()

        private let client: HTTPClient

        /// Makes a transport with connections of its own. Call ``shutdown()`` before letting go of it.
        public init() {
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.timeout.connect = .seconds(10)
            configuration.decompression = .enabled(limit: .ratio(100))
            client = HTTPClient(
                eventLoopGroupProvider: .shared(.singletonMultiThreadedEventLoopGroup), configuration: configuration)
        }

        /// Closes every connection. Requests under way fail. Call it once.
        ///
        /// - Throws: The library's error if it was shut down before.
        public func shutdown() async throws { try await client.shutdown() }

        public func send(_ request: TransportRequest) async throws -> TransportResponse {
            do {
                return try await execute(request)
            } catch  where request.isRepeatable && mayBeStaleConnection(error) {
                return try await executeAgain(request)
            } catch {
                throw try TransportError.translating(error, .maybeProcessed)
            }
        }

        /// Sends a request once more whose first attempt may have arrived: whatever becomes of this one, a failure is
        /// never ``TransportError/Phase/notSent``.
        private func executeAgain(_ request: TransportRequest) async throws -> TransportResponse {
            do { return try await execute(request) } catch {
                let failure = try TransportError.translating(error, .maybeProcessed)
                if failure.phase != .notSent { throw failure }
                throw TransportError(failure.kind, .maybeProcessed, cause: failure.cause)
            }
        }

        private func execute(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await client.execute(
                try HTTPClientRequest(request), deadline: .now() + TimeAmount(request.headTimeout))
            var head = HTTPResponse(status: .init(code: Int(response.status.code)))
            for (name, value) in response.headers {
                guard let name = HTTPField.Name(name) else { continue }
                head.headerFields.append(HTTPField(name: name, value: value))
            }
            return TransportResponse(head: head, body: ResponseBody(Chunks(base: response.body)))
        }
    }

    extension HTTPClientRequest {
        fileprivate init(_ request: TransportRequest) throws {
            guard let url = request.url else { throw TransportError(.unsupported, .notSent) }
            let head = request.head
            self.init(url: url.absoluteString)
            method = HTTPMethod(rawValue: head.method.rawValue)
            for field in head.headerFields { headers.add(name: field.name.rawName, value: field.value) }
            if let file = request.bodyFile {
                let buffers = FileChunks(file: file).map { ByteBuffer(bytes: $0) }
                body = .stream(buffers, length: .known(try FileChunks.sizeBytes(of: file)))
            } else if !request.body.isEmpty {
                body = .bytes(ByteBuffer(bytes: request.body))
            }
        }
    }

    /// The library's chunks as arrays, and its errors as ours.
    private struct Chunks: AsyncSequence, Sendable {
        let base: HTTPClientResponse.Body

        func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

        struct Iterator: AsyncIteratorProtocol {
            // One task reads a body: an iterator is no value that two could share.
            nonisolated(unsafe) var base: HTTPClientResponse.Body.AsyncIterator

            mutating func next() async throws -> [UInt8]? {
                do {
                    return try await base.next().map { Array($0.readableBytesView) }
                } catch {
                    throw try TransportError.translating(error, .responseStarted)
                }
            }
        }
    }

    /// Whether this is how a kept connection fails that the server had closed meanwhile. Others may fail so too.
    private func mayBeStaleConnection(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as ChannelError: error == .ioOnClosedChannel
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        default: false
        }
    }
#endif
