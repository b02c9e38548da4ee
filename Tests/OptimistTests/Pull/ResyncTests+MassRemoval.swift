// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Removals so large that the app is asked first.
extension ResyncTests {
    private func empty() async throws -> Reader {
        backend.write("tag", (1...150).map { id(1000 + $0) }, ["name": "many"])
        try await reader.sync()
        backend.write("tag", (1...150).map { id(1000 + $0) }, nil)
        backend.purge()
        try await reader.write("UPDATE tag SET name = 'mine' WHERE id = ?", [id(1001)])
        return reader
    }

    @Test func `L6 if the app does not answer, the rows of a mass removal stay and are sent again`()
        async throws
    {
        let reader = try await empty()
        backend.settings.withLock { $0.pageRows = 1000 }
        reader.start(onMassRemoval: nil)
        try await reader.pass(.seconds(60)) {
            try await reader.store.massRemoval().rows.isEmpty && backend.rows("tag").count >= 149
        }
        try await reader.untilSettled()
        await reader.stop()
        let (here, there) = (try await reader.rows("tag").count, backend.rows("tag").count)
        #expect(here == there && here >= 149, "\(here) here, \(there) there")
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `L6 the app can allow a mass removal, which keeps pending rows`() async throws {
        let reader = try await empty()
        backend.settings.withLock { $0.pageRows = 1000 }
        try await reader.syncPullingFirst()
        #expect(try await reader.rows("tag").count == 1)
        #expect(backend.rows("tag").values.map { $0["name"] } == ["mine"])
        #expect(try await reader.isEqualToBackend())
    }

    @Test(arguments: [MassRemoval.Decision.remove, .keep])
    func `L6 sync continues while the app is asked about a mass removal`(answer: MassRemoval.Decision)
        async throws
    {
        let reader = try await empty()
        backend.settings.withLock { $0.pageRows = 1000 }
        let asked = AsyncStream<MassRemoval>.makeStream()
        let door = AsyncStream<Void>.makeStream()
        // If another row is missing when the app answers, the app is asked again.
        reader.start { removal in
            asked.continuation.yield(removal)
            for await _ in door.stream {}
            return answer
        }
        for await removal in asked.stream {
            #expect(removal.rows == ["tag": 149] || removal.rows == ["tag": 150])
            break
        }
        #expect(try await reader.rows("tag").count >= 149, "no row is removed yet")
        backend.write("shelf", [id(50)], ["name": "Meanwhile"])
        try await reader.pass(.seconds(60)) { try await reader.rows("shelf").count == 4 }
        door.continuation.finish()
        try await reader.untilSettled()
        await reader.stop()
        #expect(backend.rows("tag").count / 149 == (answer == .keep ? 1 : 0))
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `L6 the app is asked again if more rows are missing when it answers`() async throws {
        let reader = try await empty()
        backend.settings.withLock { $0.pageRows = 1000 }
        backend.write("shelf", (1...150).map { id(3000 + $0) }, ["name": "many"])
        let asked = AsyncStream<MassRemoval>.makeStream()
        let answers = AsyncStream<MassRemoval.Decision>.makeStream()
        reader.start { removal in
            asked.continuation.yield(removal)
            for await answer in answers.stream { return answer }
            return .remove
        }
        var questions = asked.stream.makeAsyncIterator()
        #expect(await questions.next()?.rows["shelf"] == nil)
        try await reader.pass(.seconds(60)) { try await reader.rows("shelf").count == 153 }
        backend.deleteUnheard("shelf", (1...150).map { id(3000 + $0) })
        try await reader.pass(.seconds(60)) { try await reader.store.massRemoval().rows["shelf"] != nil }
        answers.continuation.yield(.remove)
        #expect(await questions.next()?.rows["shelf"] == 150)
        #expect(try await reader.rows("shelf").count == 153, "no row is removed yet")
        answers.continuation.yield(.keep)
        try await reader.untilSettled()
        await reader.stop()
        #expect(backend.rows("shelf").count == 153)
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `L6 the app is not asked about few rows or a small part of a table`() {
        #expect(!MassRemoval(rows: ["tag": 100], total: ["tag": 100]).isMass)
        #expect(!MassRemoval(rows: ["tag": 150], total: ["tag": 300]).isMass)
        #expect(MassRemoval(rows: ["tag": 151, "book": 1], total: ["tag": 300, "book": 900]).isMass)
    }
}
