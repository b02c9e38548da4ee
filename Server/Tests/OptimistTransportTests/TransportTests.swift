// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Foundation
    import HTTPTypes
    import OptimistSession
    import OptimistTesting
    import Synchronization
    import Testing

    /// The promises of every transport, tested on each.
    @Suite(.timeLimit(.minutes(20)))
    struct TransportTests {
        @Test(arguments: Carrier.allCases)
        func `head, fields and body are sent and received`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.head(201, length: 5, fields: ["X-Seen": "yes"]), .bytes(Array("world".utf8))] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(
                    TransportRequest(authority, "/rows?a=1", method: .post, body: "hello"))
                #expect(answer.head.status == .created)
                #expect(answer.head.headerFields[HTTPField.Name("X-Seen")!] == "yes")
                #expect(try await answer.body.collect(upTo: 100) == Array("world".utf8))
            }
            #expect(
                peer.seen == [
                    Peer.Seen(method: "POST", path: "/rows?a=1", authorization: "Bearer abc", body: "hello")
                ])
        }

        @Test(arguments: Carrier.overSockets)
        func `T12: a file is sent as the body, in pieces`(carrier: Carrier) async throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            // More than two pieces.
            let text = String(repeating: "picture ", count: 20_000)
            try Data(text.utf8).write(to: file)
            let peer = Peer { _ in [.head(201, length: 0)] }
            try await carrier.withTransport(to: peer) { transport, authority in
                var request = TransportRequest(authority, "/picture", method: .put)
                request.bodyFile = file
                let answer = try await transport.send(request)
                #expect(answer.head.status == .created)
            }
            #expect(peer.seen.map(\.body) == [text])
        }

        @Test(arguments: Carrier.allCases)
        func `a redirect is returned as the answer, and the credential is sent to no other server`(carrier: Carrier)
            async throws
        {
            let stranger = Peer { _ in [.head(200, length: 0)] }
            let elsewhere = try stranger.listen()
            defer { elsewhere.close() }
            let address = "http://127.0.0.1:\(elsewhere.port)/elsewhere"
            let peer = Peer { _ in [.head(302, length: 0, fields: ["Location": address])] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                #expect(answer.head.status == .found)
                #expect(answer.head.headerFields[.location] == address)
            }
            #expect(stranger.seen.isEmpty)
        }

        @Test(arguments: Carrier.allCases)
        func `if no server listens, nothing was sent`(carrier: Carrier) async throws {
            let server = try LoopbackServer { _, _ in }
            server.close()
            try await carrier.withTransport { transport in
                await #expect { try await transport.send(TransportRequest("127.0.0.1:\(server.port)")) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .refused && error.phase == .notSent
                }
            }
        }

        /// > Source: RFC 6761, section 6.4: no name under `invalid` has an address.
        @Test(arguments: Carrier.overSockets)
        func `a name without an address is unresolvable, and nothing was sent`(carrier: Carrier) async throws {
            try await carrier.withTransport { transport in
                await #expect { try await transport.send(TransportRequest("nowhere.invalid")) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .unresolvable && error.phase == .notSent
                }
            }
        }

        @Test(arguments: Carrier.allCases)
        func `a late head is a timeout`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.silence] }
            try await carrier.withTransport(to: peer) { transport, authority in
                await #expect {
                    try await transport.send(TransportRequest(authority, headTimeout: .milliseconds(50)))
                } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .timedOut && error.phase == .maybeProcessed
                }
            }
        }

        @Test(arguments: Carrier.allCases)
        func `a call's deadline covers a body that stalls`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.head(200, length: 100), .bytes(Array("half".utf8)), .silence] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let session = try Session.signedIn(to: authority, transport)
                await #expect {
                    try await session.send(SessionRequest("/", attempts: 1, deadline: .milliseconds(200)))
                } throws: {
                    ($0 as? TransportError)?.kind == .timedOut
                }
            }
        }

        @Test(arguments: Carrier.allCases)
        func `if the connection ends before the head, the request may have arrived`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.breakOff] }
            try await carrier.withTransport(to: peer) { transport, authority in
                await #expect { try await transport.send(TransportRequest(authority, method: .post)) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .broken && error.phase == .maybeProcessed
                }
            }
            #expect(peer.seen.count == 1, "what may have arrived is not sent again")
        }

        @Test(arguments: Carrier.allCases)
        func `an interrupted body is an error after the head`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.head(200, length: 100), .bytes(Array("half".utf8)), .breakOff] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                await #expect { try await answer.body.collect(upTo: 1000) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .broken && error.phase == .responseStarted
                }
            }
        }

        @Test(arguments: Carrier.overSockets)
        func `a repeatable request survives a connection that the server has closed`(carrier: Carrier)
            async throws
        {
            let peer = Peer { _ in [.head(200, length: 2), .bytes(Array("ok".utf8)), .breakOff] }
            try await carrier.withTransport(to: peer) { transport, authority in
                for _ in 0..<50 {
                    let answer = try await transport.send(TransportRequest(authority))
                    #expect(try await answer.body.collect(upTo: 10).count == 2)
                }
            }
        }

        @Test(arguments: Carrier.overSockets, [true, false])
        func `an answer that is not read to its end closes the connection`(carrier: Carrier, isTooLarge: Bool)
            async throws
        {
            let some = [UInt8](repeating: 0x78, count: 2000)
            let peer = Peer { _ in [.head(200, length: 1 << 30), .bytes(some), .silence] }
            try await carrier.withTransport(to: peer) { transport, authority in
                if isTooLarge {
                    let answer = try await transport.send(TransportRequest(authority))
                    await #expect(throws: TransportError.self) { try await answer.body.collect(upTo: 1000) }
                } else {
                    _ = try await transport.send(TransportRequest(authority))
                }
                for await _ in peer.partings { break }
            }
        }

        @Test func `a refused repetition still reports that the first attempt may have arrived`() async throws {
            let listening = Mutex<LoopbackServer?>(nil)
            let server = try LoopbackServer { _, connection in
                listening.withLock { $0 }?.close()
                connection.close()
            }
            listening.withLock { $0 = server }
            try await Carrier.asyncHTTPClient.withTransport { transport in
                await #expect { try await transport.send(TransportRequest("127.0.0.1:\(server.port)")) } throws: {
                    ($0 as? TransportError)?.phase == .maybeProcessed
                }
            }
        }

        @Test(arguments: Carrier.allCases, [true, false])
        func `cancelling ends the exchange with a cancellation, before and after the head`(
            carrier: Carrier, isAfterHead: Bool
        ) async throws {
            let peer = Peer { _ in isAfterHead ? [.head(200, length: nil), .bytes([1]), .silence] : [.silence] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let task = Task {
                    let answer = try await transport.send(TransportRequest(authority))
                    return try await answer.body.collect(upTo: 100)
                }
                for await _ in peer.silences { break }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }

        @Test(arguments: Carrier.patient)
        func `none of five hundred requests that are cancelled together hangs`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.silence] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let tasks = (0..<500).map { _ in
                    Task { _ = try await transport.send(TransportRequest(authority)) }
                }
                for await _ in peer.silences { break }
                for task in tasks { task.cancel() }
                for task in tasks {
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
            }
        }

        @Test(arguments: Carrier.patient)
        func `data is fetched only as fast as it is read`(carrier: Carrier) async throws {
            let whole = 32 << 20
            let peer = Peer { _ in [.head(200, length: whole), .flood(whole)] }
            let farthest = try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                var (read, farthest, sum) = (0, 0, 0)
                for try await chunk in answer.body {
                    read += chunk.count
                    // A slow reader.
                    for byte in chunk { sum &+= Int(byte) }
                    farthest = max(farthest, peer.floodedBytes - read)
                }
                #expect(read == whole && sum == whole * 0x78)
                return farthest
            }
            #expect(farthest < 16 << 20, "the sender was \(farthest) bytes ahead")
        }

        /// On Linux `URLSession` does not report why a handshake failed.
        @Test func `a server with an untrusted certificate is tried once and receives nothing`()
            async throws
        {
            let server = try await UntrustedServer()
            try await Carrier.asyncHTTPClient.withTransport { transport in
                let session = try Session.signedIn(to: "localhost:\(server.port)", scheme: "https", transport)
                await #expect { try await session.send(SessionRequest("/")) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .untrusted && error.phase == .notSent
                }
            }
            #expect(server.connections == 1)
            try await server.close()
        }

        @Test(arguments: Carrier.allCases)
        func `a body that is iterated twice throws`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.head(200, length: 2), .bytes(Array("ok".utf8))] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                #expect(try await answer.body.collect(upTo: 10).count == 2)
                await #expect { try await answer.body.collect(upTo: 10) } throws: {
                    ($0 as? TransportError)?.kind == .alreadyRead
                }
            }
        }
    }

    extension Session {
        /// A session with a valid token.
        static func signedIn(
            to authority: String, scheme: String = "http", _ transport: any Transport
        ) throws -> Session {
            let origin = "\(scheme)://\(authority)"
            return Session(
                server: try #require(URL(string: origin)), transport: transport,
                credentials: InMemoryCredentialStore(
                    Credentials(
                        accessToken: Secret("access"), refreshToken: Secret("refresh"), expiresAt: nil, lifetime: nil,
                        account: Account(id: "a1", email: "ada@example.com"), origin: origin)))
        }
    }
#endif
