// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore
import NIOPosix
import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// Routes that an app adds.
@Suite(.timeLimit(.minutes(20)))
struct AppRouteTests {
    let site = Site()

    private struct Secret: Error {}

    @Test func `an app's route requires a signed-in user and knows the account`() async throws {
        let routes = [
            AppRoute("/menu/:day") { call in
                Response(
                    status: .ok,
                    body: .init(byteBuffer: .init(string: "\(try call.parameters.require("day")) of \(call.account)")))
            }
        ]
        try await site.serving(change: { $0.routes = routes }) { _, http async throws in
            #expect(try await http.get("/menu/friday").status == 401)
            let person = try await http.signUp()
            let answer = try await http.get("/menu/friday", token: person.access)
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "friday of \(person.account)")
            #expect(try await http.get("/menu", token: person.access).status == 404)
        }
    }

    @Test func `an error thrown by a route gives its status, without internal details`() async throws {
        let routes = [
            AppRoute("/gone") { _ in throw HTTPError(.gone, message: "No more.") },
            AppRoute("/broken") { _ in throw Secret() },
        ]
        try await site.serving(change: { $0.routes = routes }) { _, http async throws in
            let token = try await http.signUp().access
            #expect(try await http.get("/gone", token: token).status == 410)
            let broken = try await http.get("/broken", token: token)
            #expect(broken.status == 500 && !String(decoding: broken.body, as: UTF8.self).contains("Secret"))
        }
    }

    @Test func `a body sent to an app's route is refused with 401, 413 or 415 as on the server's own routes`()
        async throws
    {
        let calls = Mutex(0)
        let routes = [
            AppRoute("/menu", method: .put, maxBodyBytes: 4) { call in
                calls.withLock { $0 += 1 }
                return Response(status: .ok, body: .init(byteBuffer: try await call.request.body.collect(upTo: 4)))
            }
        ]
        try await site.serving(change: { $0.routes = routes }) { _, http async throws in
            let token = try await http.signUp().access
            for (token, coding, body, status) in [
                (token, "gzip", "soup", 415), (token, "identity", "soups", 413), (nil, "identity", "soup", 401),
                (token, "identity", "soup", 200),
            ] {
                let answer = try await http.send(
                    "PUT", "/menu", token: token, headers: ["content-encoding": coding], body: Array(body.utf8))
                #expect(answer.status == status)
                #expect(status != 200 || answer.body == Array("soup".utf8))
            }
        }
        #expect(calls.withLock(\.self) == 1)
    }

    @Test func `a client that expects 100-continue gets it before an app's route is called`() async throws {
        let routes = [
            AppRoute("/menu", method: .put) { call in
                Response(status: .ok, body: .init(byteBuffer: try await call.request.body.collect(upTo: 10)))
            }
        ]
        try await site.serving(change: { $0.routes = routes }) { server, http async throws in
            let head = """
                PUT /menu HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(try await http.signUp().access)\r\n\
                Expect: 100-continue\r\nConnection: close\r\nContent-Length: 4\r\n\r\n
                """
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(HTTPSide.patience)
                .connect(host: "127.0.0.1", port: server.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let answer = try await client.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: head))
                var answer = ""
                for try await part in inbound {
                    answer += String(buffer: part)
                    guard answer == "HTTP/1.1 100 Continue\r\n\r\n" else { continue }
                    try await outbound.write(ByteBuffer(string: "soup"))
                }
                return answer
            }
            #expect(answer.contains("200 OK") && answer.hasSuffix("soup"))
        }
    }

    @Test func `the body and answer of an app's route count as memory, and without room the status is 503`()
        async throws
    {
        let body = [UInt8](repeating: 0, count: 300_000)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let calls = Mutex(0)
        let routes = [
            AppRoute("/menu", method: .put) { call in
                calls.withLock { $0 += 1 }
                for await _ in gate { break }
                let given = try await call.request.body.collect(upTo: 300_000)
                return Response(status: .ok, body: .init(byteBuffer: given))
            },
            AppRoute("/picture") { _ in Response(status: .ok, body: .init(byteBuffer: .init(bytes: body))) },
        ]
        try await site.serving(change: { $0.routes = routes }) { server, http async throws in
            let (memory, token) = (server.routes.memory, try await http.signUp().access)
            async let answer = http.send("PUT", "/menu", token: token, body: body)
            while memory.total < body.count { await Task.yield() }
            open.yield()
            #expect(try await answer.body == body)
            while memory.total > 0 { await Task.yield() }

            let held = memory.share(of: "another")
            held.keep(answer: memory.limit)
            #expect(try await http.send("PUT", "/menu", token: token, body: body).status == 503)
            let refused = try await http.get("/picture", token: token)
            #expect(refused.status == 503 && refused.headers["retry-after"] == ["1"])
            #expect(refused.json["detail"]?.string?.hasSuffix("The request was carried out.") == true)
            #expect(calls.withLock(\.self) == 1)
            held.leave()
            #expect(try await http.get("/picture", token: token).body == body)
            while memory.total > 0 { await Task.yield() }
        }
    }
}
