// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ResponseBodyTests {
    @Test func `T12: reading a body throws if its reader is cancelled`() async {
        let (chunks, continuation) = AsyncStream<[UInt8]>.makeStream()
        continuation.yield(Array("half".utf8))
        let reading = Task { try await ResponseBody(chunks).collect(upTo: 100) }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }
}
