// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import HTTPTypes
    import OptimistCore
    import OptimistSession
    import OptimistTesting
    import Synchronization
    import TestForm
    import Testing

    /// A server that tries to end its client's process. A trap would end the tests.
    @Suite(.timeLimit(.minutes(240)))
    struct HostileServerTests {
        @Test(arguments: Carrier.overSockets, ["000", "020", "099", "101", "1000", "99999"])
        func `T13 a status unknown to HTTP is a broken connection`(carrier: Carrier, status: String) async throws {
            let server = try await HostileServer(.http1) { _, _ in
                [.bytes(Array("HTTP/1.1 \(status) Said\r\nContent-Length: 2\r\n\r\nok".utf8)), .close]
            }
            try await carrier.withTransport { transport in
                await #expect { try await transport.send(TransportRequest("127.0.0.1:\(server.port)")) } throws: {
                    ($0 as? TransportError)?.kind == .broken
                }
            }
            try await server.close()
        }

        @Test(arguments: ["000", "20", "99", "101", "1000", "99999", "-1", "+200", "two"], [true, false])
        func `T13 a status unknown to HTTP2 is a broken connection`(status: String, isLast: Bool) async throws {
            let server = try await HostileServer(.http2) { _, stream in
                let flags = Frame.endHeaders | (isLast ? Frame.endStream : 0)
                let real = Frame.head([(":status", "200")], stream: stream) + Frame.data([1], stream: stream)
                let strange = Frame.head([(":status", status)], stream: stream, flags: flags)
                return [.bytes(strange + (isLast ? [] : real))]
            }
            try await Carrier.withUnverifiedTLS { transport in
                await #expect {
                    try await transport.send(TransportRequest("localhost:\(server.port)", scheme: "https"))
                } throws: {
                    ($0 as? TransportError)?.kind == .broken
                }
            }
            try await server.close()
        }

        @Test(arguments: Carrier.overSockets)
        func `T13 whatever a server sends over HTTP1 is an answer or a transport error`(carrier: Carrier) async throws {
            let count = TestForm.of(short: 400, full: 3_000, soak: 100_000)
            let seed = Mutex(UInt64(0))
            let server = try await HostileServer(.http1) { _, _ in
                var answers = HostileAnswers(seed: seed.withLock { $0 })
                return answers.overHTTP1(isPlain: carrier == .urlSession)
            }
            try await carrier.withTransport { transport in
                for number in 1...count {
                    seed.withLock { $0 = UInt64(number) }
                    let method = [HTTPRequest.Method.get, .head, .post][number % 3]
                    let request = TransportRequest(
                        "127.0.0.1:\(server.port)", method: method, headTimeout: .seconds(10))
                    let complaint = await complaint(about: request, transport)
                    #expect(complaint == nil, "seed \(number)")
                }
            }
            try await server.close()
        }

        @Test func `T13 whatever frames a server sends are an answer or a transport error`() async throws {
            let count = TestForm.of(short: 400, full: 3_000, soak: 100_000)
            let seed = Mutex(UInt64(0))
            let server = try await HostileServer(.http2) { _, stream in
                var answers = HostileAnswers(seed: seed.withLock { $0 })
                return answers.overHTTP2(stream: stream)
            }
            try await Carrier.withUnverifiedTLS { transport in
                for number in 1...count {
                    seed.withLock { $0 = UInt64(number) }
                    let request = TransportRequest(
                        "localhost:\(server.port)", method: number % 2 == 0 ? .get : .post,
                        body: number % 4 == 1 ? "hello" : "", headTimeout: .seconds(10), scheme: "https")
                    let complaint = await complaint(about: request, transport)
                    #expect(complaint == nil, "seed \(number)")
                }
            }
            try await server.close()
        }

        @Test(arguments: Carrier.overSockets)
        func `T13 whatever the address, the request ends in an answer or a transport error`(carrier: Carrier)
            async throws
        {
            var random = SplitMix64(seed: 39)
            try await carrier.withTransport { transport in
                for _ in 0..<TestForm.of(short: 300, full: 2_000, soak: 50_000) {
                    func any(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
                    let authority = any(Self.hosts) + any(Self.ports)
                    var request = TransportRequest(
                        authority, any(Self.paths), headTimeout: .milliseconds(500), scheme: any(Self.schemes))
                    request.isLong = Bool.random(using: &random)
                    let complaint = await complaint(about: request, transport)
                    #expect(complaint == nil, "\(request)")
                }
            }
        }

        private static let schemes = [
            "http", "http", "https", "HTTP", "http+unix", "https+unix", "unix", "file", "ws", "",
        ]
        private static let hosts = [
            "127.0.0.1", "127.0.0.1", "[::1]", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]", "[::1", "",
            "%2Ftmp%2Fsocket", "127.0.0.1%00", "ada@127.0.0.1", "127.0.0.1/", "127.0.0.1\\", "127.0.0.1#", " ",
        ]
        private static let ports = [
            ":1", ":1", ":0", ":65535", ":65536", ":99999", ":99999999999999999999", ":-1", ":x", ":",
        ]
        private static let paths = ["/", "/a b%", "", "x", "@127.0.0.1:1/", ":2/", "//", "/\r\nX: y", "/%00", "/é"]

        @Test(arguments: Carrier.overSockets, ["http+unix://%2Ftmp%2Fsocket:80", "http://127.0.0.1:65536", "file://a"])
        func
            `T13 an address with another scheme or an invalid port is unsupported, and nothing is sent`(
                carrier: Carrier, address: String
            )
            async throws
        {
            let parts = address.split(separator: "://", maxSplits: 1).map(String.init)
            try await carrier.withTransport { transport in
                await #expect {
                    try await transport.send(TransportRequest(parts[1], scheme: parts[0]))
                } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .unsupported && error.phase == .notSent
                }
            }
        }

        /// How an exchange broke the transport's promises, or nil.
        private func complaint(about request: TransportRequest, _ transport: any Transport) async -> String? {
            do {
                let answer = try await transport.send(request)
                guard 100...999 ~= answer.head.status.code else { return "status \(answer.head.status.code)" }
                _ = try await answer.body.collect(upTo: 1 << 20)
                return nil
            } catch is TransportError {
                return nil
            } catch {
                return String(reflecting: error)
            }
        }
    }
#endif
