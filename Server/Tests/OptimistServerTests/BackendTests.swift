// This source file is part of the Optimist open source project, under the MIT licence.

import InMemoryTracing
import Instrumentation
import Metrics
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Backends that a process bootstraps only once, so each is tested in its own process.
@Suite(.timeLimit(.minutes(20)))
struct BackendTests {
    @Test func `with a tracer, each request is a span named by its route, with a child span for its push`()
        async
    {
        await #expect(processExitsWith: .success) {
            let tracer = InMemoryTracer()
            InstrumentationSystem.bootstrap(tracer)
            try await Site().serving { _, http async throws in
                let person = try await http.signUp()
                let request = Request(methodCalls: [], device: "deviceAA", push: 1)
                let answer = try await http.post("/jmap", request.json, token: person.access)
                #expect(answer.status == 200)
            }
            let spans = tracer.finishedSpans
            let route = try #require(spans.first { $0.operationName == "/jmap" })
            let push = try #require(spans.first { $0.operationName == "optimist.exchange" })
            #expect(push.parentSpanID == route.spanID)
        }
    }

    @Test func `the server's metrics reach the backend that the process bootstrapped`() async {
        await #expect(processExitsWith: .success) {
            let backend = PrometheusMetrics()
            MetricsSystem.bootstrap(backend)
            try await Site().serving(change: { $0.adminPort = 0 }) { server, http async throws in
                _ = try await http.signUp()
                let port = try #require(try await server.adminPort)
                let answer = try await HTTPSide(base: "http://127.0.0.1:\(port)").get("/metrics")
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(text.contains(#"route="/auth/sign-up",method="POST",status="201"} 1"#))
            }
        }
    }
}
