// This source file is part of the Optimist open source project, under the MIT licence.

#if AsyncHTTPClient && canImport(Glibc)
    import Foundation
    import HTTPTypes
    import OptimistSession
    import Synchronization
    import Testing

    @Suite(.timeLimit(.minutes(5)))
    struct AsyncHTTPClientTransportTests {
        private func withServer(
            _ handler: @escaping LoopbackServer.Handler,
            _ work: (AsyncHTTPClientTransport, Int) async throws -> Void
        ) async throws {
            let server = try LoopbackServer(handler)
            let transport = AsyncHTTPClientTransport()
            defer { server.close() }
            do {
                try await work(transport, server.port)
                try await transport.shutdown()
            } catch {
                try? await transport.shutdown()
                throw error
            }
        }

        private func request(
            _ port: Int, _ path: String = "/", method: HTTPRequest.Method = .get, body: [UInt8] = [],
            headTimeout: Duration = .seconds(10)
        ) -> TransportRequest {
            TransportRequest(
                head: HTTPRequest(
                    method: method, scheme: "http", authority: "127.0.0.1:\(port)", path: path,
                    headerFields: [.authorization: "Bearer abc"]),
                body: body, headTimeout: headTimeout, isRepeatable: method == .get)
        }

        @Test func `head, fields and body go there and come back`() async throws {
            try await withServer { request, connection in
                let isWhole = request.hasPrefix("POST /rows?a=1 ") && request.hasSuffix("\r\n\r\nhello")
                let isSigned = request.lowercased().contains("authorization: bearer abc")
                connection.send("HTTP/1.1 200 OK\r\nX-Seen: \(isWhole && isSigned)\r\nContent-Length: 5\r\n\r\nworld")
            } _: { transport, port in
                let answer = try await transport.send(
                    request(port, "/rows?a=1", method: .post, body: Array("hello".utf8)))
                #expect(answer.head.status == .ok)
                #expect(answer.head.headerFields[HTTPField.Name("X-Seen")!] == "true")
                #expect(try await answer.body.collect(upTo: 100) == Array("world".utf8))
            }
        }

        @Test func `a redirect is an answer, and is not followed`() async throws {
            try await withServer { _, connection in
                connection.send(
                    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n")
            } _: { transport, port in
                let answer = try await transport.send(request(port))
                #expect(answer.head.status == .found)
            }
        }

        @Test func `a refused connection is an error at once, and nothing was sent`() async throws {
            let server = try LoopbackServer { _, _ in }
            server.close()
            let transport = AsyncHTTPClientTransport()
            await #expect { try await transport.send(request(server.port)) } throws: {
                guard let error = $0 as? TransportError else { return false }
                return error.kind == .refused && error.phase == .notSent
            }
            try await transport.shutdown()
        }

        @Test func `a head that does not come in time is given up`() async throws {
            try await withServer { _, _ in
            } _: { transport, port in
                await #expect {
                    try await transport.send(request(port, headTimeout: .milliseconds(50)))
                } throws: { ($0 as? TransportError)?.kind == .timedOut }
            }
        }

        @Test func `a body that breaks off is an error after the head`() async throws {
            try await withServer { _, connection in
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                connection.close()
            } _: { transport, port in
                let answer = try await transport.send(request(port))
                await #expect { try await answer.body.collect(upTo: 1000) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .broken && error.phase == .responseStarted
                }
            }
        }

        @Test func `a connection that the server closed meanwhile costs a repeatable request nothing`() async throws {
            try await withServer { _, connection in
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                connection.close()
            } _: { transport, port in
                for _ in 0..<50 {
                    let answer = try await transport.send(request(port))
                    #expect(try await answer.body.collect(upTo: 10).count == 2)
                }
            }
        }

        @Test func `a repetition that finds nobody does not deny that the first may have arrived`() async throws {
            let listening = Mutex<LoopbackServer?>(nil)
            let server = try LoopbackServer { _, connection in
                listening.withLock { $0 }?.close()
                connection.close()
            }
            listening.withLock { $0 = server }
            let transport = AsyncHTTPClientTransport()
            await #expect { try await transport.send(request(server.port)) } throws: {
                ($0 as? TransportError)?.phase == .maybeProcessed
            }
            try await transport.shutdown()
        }

        @Test func `cancelling ends the exchange as a cancellation, before the head and after it`() async throws {
            for path in ["/silent", "/stream"] {
                let arrived = Door()
                try await withServer { _, connection in
                    if path == "/stream" { connection.send("HTTP/1.1 200 OK\r\n\r\nfirst") }
                    arrived.open()
                } _: { transport, port in
                    let task = Task {
                        let answer = try await transport.send(request(port, path))
                        return try await answer.body.collect(upTo: 100)
                    }
                    await arrived.pass()
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
            }
        }
    }
#endif
