// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(5)))
struct DiskTierTests {
    private let folder = TemporaryFolder()

    private func desk() -> Desk {
        let cache = folder.cache()
        let tier = DiskTier<String, Int>(
            cache, name: { $0 },
            decode: { bytes in
                guard let value = Int(String(decoding: bytes, as: UTF8.self)) else { throw Broken() }
                return value
            }, encode: { Array("\($0)".utf8) })
        return Desk(disk: tier)
    }

    private func have(_ value: Int, _ validity: Validity = Validity()) async throws {
        let desk = desk()
        async let got = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", value, validity)
        _ = try await got
        await desk.loader.disk?.settled()
    }

    @Test func `a value is on the disk at the next launch`() async throws {
        try await have(7)
        let next = desk()
        #expect(try await next.loader.value(for: "a") == 7)
        #expect(next.source.begun.isEmpty)
        #expect(next.loader.counts.diskHits == 1)
        #expect(next.loader.cached("a") == 7)
    }

    @Test func `C7 one that has expired on the disk is asked about with what the source said of it`() async throws {
        try await have(7, Validity(expiresAt: Date(timeIntervalSince1970: 1), etag: "one", lastModified: "then"))
        let next = desk()
        let listener = Listener(next.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await listener.next() == "7 from disk")
        await next.source.begin()
        #expect(next.source.former("a")?.etag == "one")
        #expect(next.source.former("a")?.lastModified == "then")
        next.source.answer("a", .success(.unchanged(Validity(etag: "two"))))
        #expect(await listener.next() == "7 from source")
        await next.loader.disk?.settled()
        #expect(try await desk().loader.value(for: "a") == 7)
    }

    @Test func `C7 what the source confirms is not what the disk has, if that is another's version`() async throws {
        try await have(7, Validity(expiresAt: Date(timeIntervalSince1970: 1), etag: "one"))
        let desk = desk()
        let listener = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        _ = await listener.next()
        await desk.source.begin()
        // Another process of the app has stored a later version meanwhile.
        folder.cache().store(DiskEntry(bytes: Array("8".utf8), storedAt: Date(), etag: "two"), for: "a")
        desk.source.answer("a", .success(.unchanged(Validity(etag: "one"))))
        #expect(await listener.next() == "7 from source")
        await desk.loader.disk?.settled()
        #expect(folder.cache().entry(for: "a")?.bytes != Array("7".utf8))
    }

    @Test func `C6 bytes that are no value are a miss, and are removed`() async throws {
        folder.cache().store(DiskEntry(bytes: Array("seven".utf8), storedAt: Date()), for: "a")
        let desk = desk()
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", 7)
        #expect(try await value == 7)
        await desk.loader.disk?.settled()
        #expect(try await self.desk().loader.value(for: "a") == 7)
    }

    @Test(arguments: [true, false])
    func `C10 what was removed is not on the disk either, also if it comes at that moment`(isAll: Bool) async throws {
        try await have(7)
        let desk = desk()
        #expect(try await desk.loader.value(for: "a") == 7)
        let late = Listener(desk.loader, "a", .visible, .fresh)
        await desk.source.begin()
        if isAll { desk.loader.removeAll() } else { desk.loader.remove("a") }
        desk.source.answer("a", 8)
        _ = await late.next()
        await desk.loader.disk?.settled()
        let next = self.desk()
        let listener = Listener(next.loader, "a")
        #expect(await next.source.begin() == ["a"])
        withExtendedLifetime(listener) {}
    }

    /// A tier that gives its values when the test says so.
    private func slowDesk() -> (desk: Desk, gate: DispatchSemaphore) {
        let gate = DispatchSemaphore(value: 0)
        let tier = DiskTier<String, Int>(
            folder.cache(), name: { $0 },
            decode: { bytes in
                gate.wait()
                return Int(String(decoding: bytes, as: UTF8.self)) ?? 0
            })
        return (Desk(LoaderLimits(linger: .zero), disk: tier), gate)
    }

    @Test func `a memory hit does not wait for the disk`() async throws {
        try await have(7)
        let (desk, gate) = slowDesk()
        desk.loader.store(1, for: "b")
        let listener = Listener(desk.loader, "a")
        #expect(desk.loader.cached("b") == 1)
        gate.signal()
        #expect(await listener.next() == "7 from disk")
    }

    @Test func `C6 what comes from the disk late is no other key's value`() async throws {
        try await have(7)
        let (desk, gate) = slowDesk()
        Listener(desk.loader, "a").ticket.cancel()
        desk.loader.store(1, for: "b")
        gate.signal()
        await desk.loader.disk?.settled()
        let later = Listener(desk.loader, "a")
        gate.signal()
        #expect(await later.next() == "7 from disk")
        #expect(desk.loader.cached("b") == 1)
    }
}
