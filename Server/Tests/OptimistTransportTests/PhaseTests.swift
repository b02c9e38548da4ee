// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Foundation
    import Glibc
    import HTTPTypes
    import NIOSSL
    import OptimistTesting
    import Synchronization
    import Testing

    @testable import OptimistSession

    /// How far a failed request had got: an unsent request may always be sent again.
    @Suite(.timeLimit(.minutes(20)))
    struct PhaseTests {
        @Test(arguments: [
            ("a reset with REFUSED_STREAM", TransportError.Phase.notSent),
            ("a GOAWAY before the stream", .notSent),
            ("a reset with INTERNAL_ERROR", .maybeProcessed),
            ("a GOAWAY after the stream, and the end", .maybeProcessed),
        ])
        func `T7 over HTTP2 a stream that the server did not process counts as not sent`(
            refusal: String, phase: TransportError.Phase
        ) async throws {
            let server = try await HostileServer(.http2) { _, stream in
                switch refusal {
                case "a reset with REFUSED_STREAM": [.bytes(Frame.reset(7, stream: stream))]
                case "a GOAWAY before the stream": [.bytes(Frame.goAway(lastStream: 0))]
                case "a reset with INTERNAL_ERROR": [.bytes(Frame.reset(2, stream: stream))]
                default: [.bytes(Frame.goAway(lastStream: stream)), .close]
                }
            }
            try await Carrier.withUnverifiedTLS { transport in
                await #expect {
                    try await transport.send(
                        TransportRequest("localhost:\(server.port)", method: .post, body: "hello", scheme: "https"))
                } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .broken && error.phase == phase
                }
            }
            try await server.close()
        }

        @Test func `T7 a POST to a server that is shutting down is sent again on another connection`() async throws {
            let server = try await HostileServer(.http2) { request, stream in
                if request == 0 { return [.bytes(Frame.goAway(lastStream: 0))] }
                let end = Frame.endHeaders | Frame.endStream
                return [.bytes(Frame.head([(":status", "200")], stream: stream, flags: end))]
            }
            try await Carrier.withUnverifiedTLS { transport in
                let session = try Session.signedIn(to: "localhost:\(server.port)", scheme: "https", transport)
                let answer = try await session.send(SessionRequest("/", method: .post, body: [1]))
                #expect(answer.status == .ok)
            }
            #expect(server.seen == 2)
            try await server.close()
        }

        @Test(arguments: ["http", "https"])
        func `T7 a POST without a connection counts as not sent, however short its timeout`(scheme: String)
            async throws
        {
            // The first server accepts no connection. The second accepts one and never starts TLS.
            let full = try FullServer()
            let silent = try LoopbackServer { _, _ in }
            defer { silent.close() }
            // When a separate transport ended, it would wait until connecting has failed.
            await #expect {
                try await AsyncHTTPClientTransport.shared.send(
                    TransportRequest(
                        "127.0.0.1:\(scheme == "http" ? full.port : silent.port)", method: .post, body: "hello",
                        headTimeout: .milliseconds(200), scheme: scheme))
            } throws: {
                guard let error = $0 as? TransportError else { return false }
                return error.kind == .timedOut && error.phase == .notSent
            }
        }

        @Test func `a POST that the server read without answering may have been processed`() async throws {
            let peer = Peer { _ in [.silence] }
            try await Carrier.asyncHTTPClient.withTransport(to: peer) { transport, authority in
                await #expect {
                    try await transport.send(
                        TransportRequest(authority, method: .post, body: "hello", headTimeout: .milliseconds(200)))
                } throws: {
                    ($0 as? TransportError)?.phase == .maybeProcessed
                }
                #expect(peer.seen.count == 1)
            }
        }

        @Test func `the transport adds no internal header field to a request`() async throws {
            let heads = Mutex<[String]>([])
            let server = try LoopbackServer { head, connection in
                heads.withLock { $0.append(head) }
                connection.send("HTTP/1.1 204 Done\r\n\r\n".utf8)
            }
            defer { server.close() }
            try await Carrier.asyncHTTPClient.withTransport { transport in
                for _ in 0..<2 { _ = try await transport.send(TransportRequest("127.0.0.1:\(server.port)")) }
            }
            let seen = heads.withLock { $0 }
            #expect(seen.count == 2 && !seen.joined().lowercased().contains("optimist"))
        }
    }

    /// A server whose accept queue is full.
    private final class FullServer: Sendable {
        let port: Int
        private let sockets: [CInt]

        init() throws {
            let stream = CInt(SOCK_STREAM.rawValue)
            let listener = socket(AF_INET, stream, 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            var waiting: [CInt] = []
            let isFull = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    guard bind(listener, address, length) == 0, listen(listener, 0) == 0,
                        getsockname(listener, address, &length) == 0
                    else { return false }
                    for _ in 0..<4 {
                        let client = socket(AF_INET, stream | CInt(SOCK_NONBLOCK.rawValue), 0)
                        waiting.append(client)
                        _ = connect(client, address, length)
                    }
                    return true
                }
            }
            guard isFull else { throw POSIXError(.EADDRNOTAVAIL) }
            port = Int(UInt16(bigEndian: address.sin_port))
            sockets = waiting + [listener]
        }

        deinit { for socket in sockets { close(socket) } }
    }
#endif
