// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Foundation
    import HTTPTypes
    import OptimistSession
    import OptimistTesting
    import Testing

    /// Calls during long exchanges with an HTTP/1.1 server, where each exchange needs its own connection.
    @Suite(.timeLimit(.minutes(20)))
    struct RoomForCallsTests {
        @Test(arguments: Carrier.overSockets)
        func `T12 calls succeed, however many streams are open`(carrier: Carrier) async throws {
            let peer = Peer { request in
                let isStream = request.path == "/stream"
                return isStream ? [.head(200, length: nil), .bytes([1]), .silence] : [.head(200, length: 0)]
            }
            try await carrier.withTransport(to: peer) { transport, authority in
                let session = try Session.signedIn(to: authority, transport)
                await withTaskGroup { group in
                    for _ in 0..<12 {
                        group.addTask {
                            try? await session.stream(SessionRequest("/stream")) { _, body in for try await _ in body {}
                            }
                        }
                    }
                    var open = 0
                    for await _ in peer.silences {
                        open += 1
                        if open == 12 { break }
                    }
                    let answer = try? await session.send(
                        SessionRequest("/rows", attempts: 1, headTimeout: .seconds(60)))
                    #expect(answer?.status == .ok)
                    group.cancelAll()
                }
            }
        }

        @Test(arguments: Carrier.overSockets)
        func `T12 calls succeed, however many files are being transferred`(carrier: Carrier) async throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data("picture".utf8).write(to: file)
            let peer = Peer { request in request.path == "/picture" ? [.silence] : [.head(200, length: 0)] }
            try await carrier.withTransport(to: peer) { transport, authority in
                let session = try Session.signedIn(to: authority, transport)
                await withTaskGroup { group in
                    for _ in 0..<12 {
                        group.addTask {
                            _ = try? await session.upload(SessionRequest("/picture", method: .post), from: file)
                        }
                    }
                    var open = 0
                    for await _ in peer.silences {
                        open += 1
                        if open == 12 { break }
                    }
                    let answer = try? await session.send(
                        SessionRequest("/rows", attempts: 1, headTimeout: .seconds(60)))
                    #expect(answer?.status == .ok)
                    group.cancelAll()
                }
            }
        }
    }
#endif
