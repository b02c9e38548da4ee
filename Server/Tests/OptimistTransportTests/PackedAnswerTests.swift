// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import HTTPTypes
    import OptimistSession
    import OptimistTesting
    import Testing

    /// Answers with a `Content-Encoding`.
    @Suite(.timeLimit(.minutes(20)))
    struct PackedAnswerTests {
        @Test(arguments: Carrier.overSockets)
        func `a compressed answer arrives decompressed`(carrier: Carrier) async throws {
            let packed = Gzip.unpackedTwentyTimes
            let peer = Peer { _ in
                [.head(200, length: packed.count, fields: ["Content-Encoding": "gzip"]), .bytes(packed)]
            }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                let body = try await answer.body.collect(upTo: 1000)
                #expect(String(decoding: body, as: UTF8.self) == String(repeating: "unpacked ", count: 20))
            }
        }

        @Test(arguments: Carrier.overSockets, [("GET", 200), ("GET", 204), ("GET", 304), ("HEAD", 200), ("HEAD", 204)])
        func `an answer without a body is complete, even with a Content-Encoding`(
            carrier: Carrier, exchange: (method: String, status: Int)
        ) async throws {
            let (name, status) = exchange
            let peer = Peer { _ in
                [.head(status, length: status == 200 ? 0 : nil, fields: ["Content-Encoding": "gzip"])]
            }
            try await carrier.withTransport(to: peer) { transport, authority in
                let method = try #require(HTTPRequest.Method(name))
                let answer = try await transport.send(TransportRequest(authority, method: method))
                #expect(answer.head.status.code == status)
                #expect(try await answer.body.collect(upTo: 10).isEmpty)
            }
        }

        @Test(arguments: Carrier.overSockets)
        func `the answer to HEAD may have a length without a body`(carrier: Carrier) async throws {
            let peer = Peer { _ in [.head(200, length: 32, fields: ["Content-Encoding": "gzip"])] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority, method: .head))
                #expect(try await answer.body.collect(upTo: 10).isEmpty)
            }
        }

        @Test(arguments: [
            ("x-gzip", Gzip.unpackedTwentyTimes, 20), ("GZIP", Gzip.unpackedTwentyTimes, 20),
            ("identity, gzip", Gzip.unpackedTwentyTimes, 20),
            ("gzip", Gzip.unpackedTwentyTimes + Gzip.unpackedTwentyTimes, 40),
            ("gzip", Gzip.unpackedTwentyTimes + [0, 0, 0], 20), ("deflate", Gzip.inFrame, 20),
            ("deflate", Gzip.withoutFrame, 20),
        ])
        func `each requested encoding is decompressed, in pieces of any size`(
            coding: String, packed: [UInt8], times: Int
        ) async throws {
            for pieceBytes in [packed.count, 1] {
                let peer = Peer { _ in
                    let pieces = stride(from: 0, to: packed.count, by: pieceBytes)
                        .map { Peer.Act.bytes(Array(packed[$0..<min($0 + pieceBytes, packed.count)])) }
                    return [.head(200, length: packed.count, fields: ["Content-Encoding": coding])] + pieces
                }
                try await Carrier.asyncHTTPClient.withTransport(to: peer) { transport, authority in
                    let answer = try await transport.send(TransportRequest(authority))
                    let body = try await answer.body.collect(upTo: 1000)
                    #expect(String(decoding: body, as: UTF8.self) == String(repeating: "unpacked ", count: times))
                }
            }
        }

        @Test(
            arguments: [
                Array(Gzip.unpackedTwentyTimes.dropLast()), Array(Gzip.unpackedTwentyTimes.prefix(5)), [0x1F],
                Gzip.unpackedTwentyTimes + [0x1F, 0x8B], Array("hello".utf8),
                Array(Gzip.unpackedTwentyTimes.dropLast(5) + [1, 2, 3, 4, 5]),
            ] as [[UInt8]])
        func `a truncated or corrupt compressed body is a broken connection`(packed: [UInt8]) async throws {
            let peer = Peer { _ in
                [.head(200, length: packed.count, fields: ["Content-Encoding": "gzip"]), .bytes(packed)]
            }
            try await Carrier.asyncHTTPClient.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                await #expect { try await answer.body.collect(upTo: 1000) } throws: {
                    guard let error = $0 as? TransportError else { return false }
                    return error.kind == .broken && error.phase == .responseStarted
                }
            }
        }

        @Test func `a small text that compresses well is accepted`() async throws {
            let packed = Gzip.zeros(200_000)
            let peer = Peer { _ in
                [.head(200, length: nil, fields: ["Content-Encoding": "gzip"]), .bytes(packed), .silence]
            }
            try await Carrier.asyncHTTPClient.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                var count = 0
                for try await chunk in answer.body {
                    count += chunk.count
                    if count > 150_000 { break }
                }
                #expect(count > 150_000)
            }
        }

        @Test func `a body that expands more than 100 times is too large, whatever the caller accepts`()
            async throws
        {
            let bomb = Gzip.zeros(64 << 20)
            let peer = Peer { _ in
                [.head(200, length: bomb.count, fields: ["Content-Encoding": "gzip"]), .bytes(bomb)]
            }
            try await Carrier.asyncHTTPClient.withTransport(to: peer) { transport, authority in
                let answer = try await transport.send(TransportRequest(authority))
                await #expect { try await answer.body.collect(upTo: .max) } throws: {
                    ($0 as? TransportError)?.kind == .tooLarge
                }
            }
        }

        @Test(arguments: Carrier.overSockets)
        func `a small body that expands to a large one ends at the limit`(carrier: Carrier) async throws {
            let bomb = Gzip.zeros(64 << 20)
            let peer = Peer { _ in
                [.head(200, length: bomb.count, fields: ["Content-Encoding": "gzip"]), .bytes(bomb)]
            }
            try await carrier.withTransport(to: peer) { transport, authority in
                let session = try Session.signedIn(to: authority, transport)
                await #expect { try await session.send(SessionRequest("/", maxResponseBytes: 100_000)) } throws: {
                    ($0 as? TransportError)?.kind == .tooLarge
                }
            }
        }
    }
#endif
