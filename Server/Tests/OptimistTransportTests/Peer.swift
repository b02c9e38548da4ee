// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import Foundation
    import HTTPTypes
    import OptimistSession
    import OptimistTesting
    import Synchronization

    /// The other side of an exchange, scripted by a test, over a socket or in memory.
    final class Peer: Sendable {
        enum Act: Sendable {
            /// The head of an answer. Without a length, its body ends with the connection.
            case head(Int, length: Int?, fields: [String: String] = [:])
            case bytes([UInt8])
            /// This many bytes, as fast as they are read.
            case flood(Int)
            /// The connection ends.
            case breakOff
            /// No more bytes, on an open connection.
            case silence
        }

        /// A received request.
        struct Seen: Sendable, Equatable {
            var method: String
            var path: String
            var authorization: String?
            var body: String
        }

        private let acts: @Sendable (Seen) -> [Act]
        private let books = Mutex((seen: [Seen](), floodedBytes: 0))
        /// An element for each request that has reached a silence.
        let silences: AsyncStream<Void>
        private let fellSilent: AsyncStream<Void>.Continuation
        /// An element for each connection that has ended.
        let partings: AsyncStream<Void>
        private let parted: AsyncStream<Void>.Continuation

        init(_ acts: @escaping @Sendable (Seen) -> [Act]) {
            self.acts = acts
            (silences, fellSilent) = AsyncStream.makeStream()
            (partings, parted) = AsyncStream.makeStream()
        }

        var seen: [Seen] { books.withLock { $0.seen } }
        var floodedBytes: Int { books.withLock { $0.floodedBytes } }

        private func see(_ seen: Seen) -> [Act] {
            books.withLock { $0.seen.append(seen) }
            return acts(seen)
        }

        private static let drop = [UInt8](repeating: 0x78, count: 1 << 16)

        // MARK: Over a socket

        func listen() throws -> LoopbackServer {
            try LoopbackServer({ self.serve($0, $1) }, onParting: { self.parted.yield() })
        }

        private func serve(_ request: String, _ connection: LoopbackServer.Connection) {
            for act in see(Seen(request)) {
                switch act {
                case .head(let status, let length, let fields):
                    var lines = ["HTTP/1.1 \(status) Said"]
                    lines += fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
                    if let length { lines.append("Content-Length: \(length)") }
                    connection.send("\(lines.joined(separator: "\r\n"))\r\n\r\n".utf8)
                case .bytes(let bytes): connection.send(bytes)
                case .flood(let count):
                    for _ in 0..<count / Self.drop.count {
                        guard connection.send(Self.drop) else { return }
                        books.withLock { $0.floodedBytes += Self.drop.count }
                    }
                case .breakOff: connection.close()
                case .silence: fellSilent.yield()
                }
            }
        }

        // MARK: In memory

        func answer(_ request: TransportRequest) async throws -> TransportResponse {
            var acts = see(Seen(request))[...]
            let first = acts.first
            guard case .head(let status, _, let fields)? = acts.popFirst() else {
                if case .silence? = first { try await beSilent() }
                throw TransportError(.broken, .maybeProcessed)
            }
            var head = HTTPResponse(status: .init(code: status))
            for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value } }
            return TransportResponse(head: head, body: ResponseBody(Body(peer: self, acts: acts)))
        }

        private func beSilent() async throws {
            fellSilent.yield()
            try await Task.sleep(for: .seconds(3600))
        }

        private struct Body: AsyncSequence, Sendable {
            let peer: Peer
            let acts: ArraySlice<Act>

            func makeAsyncIterator() -> Iterator { Iterator(peer: peer, acts: acts) }

            struct Iterator: AsyncIteratorProtocol {
                let peer: Peer
                var acts: ArraySlice<Act>
                var left = 0

                mutating func next() async throws -> [UInt8]? {
                    while left == 0 {
                        switch acts.popFirst() {
                        case .bytes(let bytes): return bytes
                        case .flood(let count): left = count / Peer.drop.count
                        case .breakOff: throw TransportError(.broken, .responseStarted)
                        case .silence: try await peer.beSilent()
                        case .head, nil: return nil
                        }
                    }
                    left -= 1
                    peer.books.withLock { $0.floodedBytes += Peer.drop.count }
                    return Peer.drop
                }
            }
        }
    }

    extension Peer.Seen {
        init(_ request: String) {
            let parts = request.components(separatedBy: "\r\n\r\n")
            let lines = parts[0].components(separatedBy: "\r\n")
            let words = lines[0].split(separator: " ").map(String.init)
            let field = lines.first { $0.lowercased().hasPrefix("authorization: ") }
            self.init(
                method: words.first ?? "", path: words.dropFirst().first ?? "",
                authorization: field.map { String($0.dropFirst("authorization: ".count)) },
                body: parts.dropFirst().joined())
        }

        init(_ request: TransportRequest) {
            self.init(
                method: request.head.method.rawValue, path: request.head.path ?? "",
                authorization: request.head.headerFields[.authorization],
                body: String(decoding: request.body, as: UTF8.self))
        }
    }
#endif
