// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistSession
import Synchronization

/// Counts a phone's requests by target, except those that never left the phone.
final class Wire: Transport {
    /// The paths of pictures that the server can hold back.
    private static let pictures = ["/poses/", "/authors/"]

    private let transport: any Transport
    private let sent = Mutex<[String: Int]>([:])

    init(_ transport: any Transport) { self.transport = transport }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        let target = request.head.path ?? ""
        if Self.pictures.contains(where: target.hasPrefix) { request.headTimeout = HeldPictures.patience }
        sent.withLock { $0[target, default: 0] += 1 }
        do {
            return try await transport.send(request)
        } catch let error as TransportError where error.phase == .notSent {
            sent.withLock { sent in
                let count = (sent[target] ?? 1) - 1
                sent[target] = count > 0 ? count : nil
            }
            throw error
        }
    }

    /// Returns the number of requests for a path with its query.
    func sent(_ target: String) -> Int { sent.withLock { $0[target] ?? 0 } }

    /// Returns the number of targets with these prefixes, and of all requests for them.
    func totals(_ starts: [String]) -> (things: Int, requests: Int) {
        sent.withLock { sent in
            let counts = sent.filter { entry in starts.contains { entry.key.hasPrefix($0) } }.values
            return (counts.count, counts.reduce(0, +))
        }
    }

    func clear() { sent.withLock { $0 = [:] } }
}
