// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistProxy

/// Simulates a bad network between any client and any server.
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Simulate a bad network between a client and a server.",
        discussion: """
            Listens on 127.0.0.1 and forwards to the server. Other options override parts of the profile. With --admin \
            you can change the network while the proxy runs:

              curl localhost:9001/conditions
              curl -X PUT localhost:9001/conditions -H 'content-type: application/json' -d '{"profile": "flaky"}'
              curl -X POST localhost:9001/drop-next-responses -H 'content-type: application/json' -d '{"count": 1}'
            """)

    @Option(help: "The port to listen on; 0 takes a free one.") var listen = 0
    @Option(help: "The server, as host:port.") var upstream: Endpoint
    @Option(help: "The port of the admin endpoint; 0 takes a free one.") var admin: Int?
    @Option(help: "The seed of all random choices.") var seed: UInt64 = .random(in: .min ... .max)
    @OptionGroup(title: "The network") var network: NetworkOptions
    @Option(help: ArgumentHelp("Drop this many responses after the server has acted.", valueName: "count"))
    var drop = 0

    func validate() throws {
        guard drop >= 0 else { throw ValidationError("--drop must be 0 or more.") }
    }

    func run() async throws {
        try await explainingErrors(of: "proxy", at: "\(upstream.host):\(upstream.port)") { try await serve() }
    }

    private func serve() async throws {
        let proxy = try await FaultProxy.start(
            listenPort: listen, upstream: (upstream.host, upstream.port),
            conditions: NetworkConditions.online.applying(network.patch), seed: seed)
        proxy.dropNextResponses(drop)
        say("127.0.0.1:\(proxy.port) → \(upstream.host):\(upstream.port) (seed \(seed))")
        guard let admin else { return await proxy.closed() }
        try await ProxyAdmin(proxy: proxy, port: admin).run { port in
            say("admin: http://127.0.0.1:\(port)/conditions")
        }
    }
}

struct NetworkOptions: ParsableArguments {
    @Option(help: "online, 4g, 3g, flaky or offline.") var profile: NetworkConditions.Profile?
    @Option(help: "Milliseconds added to a round trip.") var latency: Double?
    @Option(help: "The maximum of the random milliseconds added to each chunk.") var jitter: Double?
    @Option(help: "Bytes per second, each way; 0 is unlimited.") var bandwidth: Int?
    @Option(help: "The chance, in percent, that a chunk closes its connection.") var loss: Double?
    @Option(help: "The most bytes written at once.") var slice: Int?
    @Option(help: "Close after this many bytes of response.") var truncate: Int?
    @Flag(help: "Accept connections, but forward nothing.") var stall = false
    @Flag(help: "Reset every connection.") var offline = false

    var patch: NetworkConditionsPatch {
        NetworkConditionsPatch(
            profile: profile, latencyMs: latency, jitterMs: jitter, bandwidth: bandwidth, lossPercent: loss,
            sliceBytes: slice, stalled: stall ? true : nil, offline: offline ? true : nil,
            truncateResponsesAfterBytes: truncate)
    }
}

extension NetworkConditions.Profile: ExpressibleByArgument {}

/// A host and a port: `localhost:8080`, `[::1]:8080`.
struct Endpoint: ExpressibleByArgument {
    var host: String
    var port: Int

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = Int(argument[argument.index(after: colon)...]),
            (1...65535).contains(port)
        else { return nil }
        let host = argument[..<colon].filter { $0 != "[" && $0 != "]" }
        if host.isEmpty { return nil }
        self.host = host
        self.port = port
    }
}
