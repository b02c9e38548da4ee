// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistSession

/// How soon a request to an address without a server fails.
///
/// The machine's name server may lose a query, and the resolver then waits for seconds. For names, therefore, only the
/// median reflects the transport.
struct NobodyThere: Benchmark {
    static let name = "nobody-there"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        for (what, authority, kind) in [
            ("a refused connection is back", "127.0.0.1:9", TransportError.Kind.refused),
            ("a name without an address is back", "nowhere.invalid", .unresolvable),
        ] {
            let transport = AsyncHTTPClientTransport()
            var times: [Double] = []
            for _ in 0..<effort.rounds(50) {
                let request = TransportRequest(
                    head: HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/"))
                times.append(
                    await Gauge.wall.seconds {
                        let result = await Result { try await transport.send(request) }
                        guard case .failure(let error as TransportError) = result, error.kind == kind else {
                            preconditionFailure("\(authority) gave \(result)")
                        }
                    })
            }
            try await transport.shutdown()
            report(Figure(what, .time(Samples(times)), target: Thresholds.nobodyThere))
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
