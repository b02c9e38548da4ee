// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import AsyncHTTPClient
    import Foundation
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import NIOSSL

    /// The transport for Linux, on AsyncHTTPClient. Available with the package trait of that name.
    ///
    /// What it does otherwise than its library would by itself:
    /// - It follows no redirect, since one to another host would take the credential with it.
    /// - It goes to http and https only; the library would also open a socket in the file system.
    /// - A refused connection is an error at once; the library would go on trying for ten seconds.
    /// - A kept connection that the server had closed meanwhile is replaced once, for what may be repeated.
    /// - A head with a status that HTTP does not know is an error; the library would stop the process.
    /// - Long exchanges have connections of their own, up to 64 to a host over HTTP/1.1, so calls never wait for them.
    /// - It asks for answers packed with gzip or deflate, unless the request says what it accepts, and unpacks them. One
    ///   that grows to more than 100 times its size, beyond the first megabyte, is `tooLarge`.
    public final class AsyncHTTPClientTransport: Transport {
        /// One for the whole process, which is never shut down.
        public static let shared = AsyncHTTPClientTransport()

        private let calls: HTTPClient
        private let longExchanges: HTTPClient
        private let departures = Departures()

        /// Makes a transport with connections of its own. Call ``shutdown()`` before letting go of it.
        public convenience init() { self.init(tls: nil) }

        /// - Parameter tls: Whom to trust, for tests. Nil: the system's roots.
        init(tls: TLSConfiguration?) {
            calls = .make(tls, connectionsPerHost: 8, departures)
            longExchanges = .make(tls, connectionsPerHost: 64, departures)
        }

        /// Closes every connection. Requests under way fail. Call it once.
        ///
        /// - Throws: The library's error if it was shut down before.
        public func shutdown() async throws {
            try await calls.shutdown()
            try await longExchanges.shutdown()
        }

        public func send(_ request: TransportRequest) async throws -> TransportResponse {
            let departure = departures.begin()
            defer { departures.end(departure) }
            let prepared = try HTTPClientRequest(request, departure)
            let client = request.isLong ? longExchanges : calls
            do {
                return try await client.response(to: prepared, within: request.headTimeout)
            } catch  where request.isRepeatable && mayBeStaleConnection(error) {
                return try await sendAgain(prepared, within: request.headTimeout, client)
            } catch {
                throw try TransportError.translating(
                    error, departures.hasLeft(departure) ? .maybeProcessed : .notSent)
            }
        }

        /// Sends a request once more whose first attempt may have arrived: whatever becomes of this one, a failure is
        /// never ``TransportError/Phase/notSent``.
        private func sendAgain(
            _ request: HTTPClientRequest, within headTimeout: Duration, _ client: HTTPClient
        ) async throws -> TransportResponse {
            do { return try await client.response(to: request, within: headTimeout) } catch {
                let failure = try TransportError.translating(error, .maybeProcessed)
                if failure.phase != .notSent { throw failure }
                throw TransportError(failure.kind, .maybeProcessed, cause: failure.cause)
            }
        }
    }

    extension HTTPClient {
        /// A client with connections of its own.
        fileprivate static func make(
            _ tls: TLSConfiguration?, connectionsPerHost: Int, _ departures: Departures
        ) -> HTTPClient {
            var configuration = Configuration(redirectConfiguration: .disallow)
            configuration.tlsConfiguration = tls
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
            configuration.timeout.connect = .seconds(10)
            configuration.http1_1ConnectionDebugInitializer = { WireWatch.add(to: $0, departures) }
            configuration.http2ConnectionDebugInitializer = { ConnectionWatch.add(to: $0) }
            configuration.http2StreamChannelDebugInitializer = { StreamWatch.add(to: $0, departures) }
            return HTTPClient(
                eventLoopGroupProvider: .shared(.singletonMultiThreadedEventLoopGroup), configuration: configuration)
        }

        fileprivate func response(
            to request: HTTPClientRequest, within headTimeout: Duration
        ) async throws -> TransportResponse {
            let response = try await execute(request, deadline: .now() + TimeAmount(headTimeout))
            var head = HTTPResponse(status: .init(code: Int(response.status.code)))
            for (name, value) in response.headers {
                guard let name = HTTPField.Name(name) else { continue }
                head.headerFields.append(HTTPField(name: name, value: value))
            }
            let body = ResponseBody(Chunks(base: response.body))
            let unpacked = Inflater.Coding(head).map { ResponseBody(Unpacked(base: body, coding: $0)) }
            return TransportResponse(head: head, body: unpacked ?? body)
        }
    }

    extension HTTPClientRequest {
        /// - Parameter departure: By what it is known that the request has left.
        /// - Throws: ``TransportError`` of kind `unsupported`.
        fileprivate init(_ request: TransportRequest, _ departure: Int) throws {
            guard let url = request.url else { throw TransportError(.unsupported, .notSent) }
            self.init(url: url.absoluteString)
            method = HTTPMethod(rawValue: request.head.method.rawValue)
            for field in request.head.headerFields { headers.add(name: field.name.rawName, value: field.value) }
            if request.head.headerFields[.acceptEncoding] == nil {
                headers.add(name: "Accept-Encoding", value: Inflater.Coding.accepted)
            }
            headers.replaceOrAdd(name: Departures.field, value: String(departure))
            if let file = request.bodyFile {
                let buffers = FileChunks(file: file).map { ByteBuffer(bytes: $0) }
                do { body = .stream(buffers, length: .known(try FileChunks.sizeBytes(of: file))) } catch {
                    throw TransportError(.unsupported, .notSent, cause: error)
                }
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
