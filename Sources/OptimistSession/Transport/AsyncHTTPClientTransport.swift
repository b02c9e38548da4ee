// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient
    import AsyncHTTPClient
    import Foundation
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import NIOSSL

    /// The transport for Linux, on AsyncHTTPClient. Requires the package trait of that name.
    ///
    /// It differs from the library's defaults:
    /// - It does not follow redirects, which could take the credential to another host.
    /// - It accepts only http and https; the library would also open a socket in the file system.
    /// - A refused connection fails immediately; the library would retry for ten seconds.
    /// - It reconnects once for a repeatable request if the server has closed an idle connection.
    /// - A head with an invalid status is an error; the library would crash the process.
    /// - Long exchanges have separate connections, up to 64 per host over HTTP/1.1, so that calls never wait for them.
    /// - It accepts gzip and deflate, unless the request has its own `Accept-Encoding`, and decompresses answers. An
    ///   answer that decompresses to more than 100 times its size, beyond the first megabyte, is `tooLarge`.
    public final class AsyncHTTPClientTransport: Transport {
        /// The shared transport, which is never shut down.
        public static let shared = AsyncHTTPClientTransport()

        private let calls: HTTPClient
        private let longExchanges: HTTPClient
        private let departures = Departures()

        /// Makes a transport with its own connections. Call ``shutdown()`` before releasing it.
        public convenience init() { self.init(tls: nil) }

        /// - Parameter tls: The trusted roots, for tests. Nil: the system's.
        init(tls: TLSConfiguration?) {
            calls = .make(tls, connectionsPerHost: 8, departures)
            longExchanges = .make(tls, connectionsPerHost: 64, departures)
        }

        /// Closes all connections. Pending requests fail. Call it once.
        ///
        /// - Throws: The library's error if it has already been shut down.
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

        /// Resends a request whose first attempt may have arrived. A failure is therefore never
        /// ``TransportError/Phase/notSent``.
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
        /// - Parameter departure: The request's id in `Departures`.
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

    /// Converts the library's chunks and errors to ours.
    private struct Chunks: AsyncSequence, Sendable {
        let base: HTTPClientResponse.Body

        func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

        struct Iterator: AsyncIteratorProtocol {
            // An iterator is not Sendable, but only one task reads a body.
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

    /// Whether the error is typical of an idle connection that the server has closed. Other failures may look the same.
    private func mayBeStaleConnection(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as ChannelError: error == .ioOnClosedChannel
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        default: false
        }
    }
#endif
