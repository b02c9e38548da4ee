// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistCore
import OptimistTesting
import Testing

@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct DiskTierTests {
    private let folder = TemporaryFolder()

    private func desk(fault: (@Sendable () -> CInt?)? = nil) -> Desk {
        let tier = DiskTier<String, Int>(
            folder.cache(fault: fault), name: { $0 },
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

    @Test func `C7 an expired value on the disk is revalidated with its tag and date`() async throws {
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

    @Test func `C7 a confirmation does not apply to another version that is on the disk`() async throws {
        try await have(7, Validity(expiresAt: Date(timeIntervalSince1970: 1), etag: "one"))
        let desk = desk()
        let listener = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        _ = await listener.next()
        await desk.source.begin()
        // Another process of the app has stored a later version.
        folder.cache().store(DiskEntry(bytes: Array("8".utf8), storedAt: Date(), etag: "two"), for: "a")
        desk.source.answer("a", .success(.unchanged(Validity(etag: "one"))))
        #expect(await listener.next() == "7 from source")
        await desk.loader.disk?.settled()
        #expect(folder.cache().entry(for: "a")?.bytes != Array("7".utf8))
    }

    @Test(arguments: [ENOSPC, EROFS])
    func `C6 on a full or read-only disk loads continue, and the old value does not return`(code: CInt)
        async throws
    {
        try await have(7, Validity(expiresAt: Date(timeIntervalSince1970: 1)))
        let desk = desk { code }
        for key in ["a", "b"] {
            async let value = desk.loader.value(for: key)
            await desk.source.begin()
            desk.source.answer(key, 8)
            #expect(try await value == 8)
            #expect(desk.loader.cached(key) == 8)
        }
        await desk.loader.disk?.settled()
        #expect(folder.cache().entry(for: "a") == nil)
        #expect(folder.cache().entry(for: "b") == nil)
        desk.loader.trim(to: 0)
        async let anew = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", 9)
        #expect(try await anew == 9)
    }

    @Test func `C6 undecodable bytes are a miss and are removed`() async throws {
        folder.cache().store(DiskEntry(bytes: Array("seven".utf8), storedAt: Date()), for: "a")
        let desk = desk()
        let listener = Listener(desk.loader, "a")
        await desk.source.begin()
        #expect(folder.cache().entry(for: "a") == nil)
        withExtendedLifetime(listener) {}
    }

    @Test(arguments: [nil, Date(timeIntervalSince1970: 1)])
    func `C7 a request for a fresh value does not keep others from getting the disk's value`(expiresAt: Date?)
        async throws
    {
        try await have(7, Validity(expiresAt: expiresAt, etag: "one"))
        let (desk, gate) = slowDesk()
        let listeners = [Freshness.cached, .cachedThenRefreshed, .fresh].map {
            Listener(desk.loader, "a", $0 == .cached ? .visible : .prefetch, $0)
        }
        gate.signal()
        if expiresAt == nil { #expect(await listeners[0].next() == "7 from disk") }
        #expect(await listeners[1].next() == "7 from disk")
        await desk.source.begin()
        #expect(desk.source.former("a")?.etag == "one")
        desk.source.answer("a", 8)
        if expiresAt != nil { for listener in listeners[..<2] { #expect(await listener.next() == "8 from source") } }
        #expect(await listeners[2].next() == "8 from source")
        desk.loader.inspect { state in
            #expect(state.machine.lanes.allSatisfy { $0.running == 0 && $0.unseenRunning == 0 })
        }
    }

    @Test func `C3 once the holder of a fresh request leaves, the disk's value suffices`() async throws {
        try await have(7)
        let (desk, gate) = slowDesk()
        let (listener, fresh) = (Listener(desk.loader, "a"), Listener(desk.loader, "a", .visible, .fresh))
        fresh.ticket.cancel()
        gate.signal()
        #expect(await listener.next() == "7 from disk")
        #expect(desk.source.begun.isEmpty)
        #expect(desk.loader.inspect { $0.machine.flights.allSatisfy { $0 == nil } })
    }

    @Test func `a stored value replaces the disk's value and survives a relaunch`() async throws {
        try await have(7)
        let desk = desk()
        desk.loader.store(8, for: "a")
        await desk.loader.disk?.settled()
        #expect(try await self.desk().loader.value(for: "a") == 8)
    }

    @Test func `a stored value that the disk cannot keep removes the old one`() async throws {
        try await have(7)
        let (desk, _) = slowDesk()
        desk.loader.store(8, for: "a")
        await desk.loader.disk?.settled()
        #expect(folder.cache().entry(for: "a") == nil)
    }

    @Test func `a seed stays in memory and leaves the disk unchanged`() async throws {
        try await have(7)
        let desk = desk()
        desk.loader.store(8, for: "a", isSeed: true)
        await desk.loader.disk?.settled()
        #expect(try await self.desk().loader.value(for: "a") == 7)
    }

    @Test func `C7 a value stored during a disk read is newer than the disk's value`() async throws {
        try await have(7)
        let (desk, gate) = slowDesk()
        let (listener, fresh) = (Listener(desk.loader, "a"), Listener(desk.loader, "a", .visible, .fresh))
        desk.loader.store(8, for: "a")
        #expect(await listener.next() == "8 from memory")
        gate.signal()
        await desk.source.begin()
        #expect(desk.loader.cached("a") == 8)
        desk.source.answer("a", 9)
        #expect(await fresh.next() == "9 from source")
        desk.loader.inspect { state in #expect(state.machine.lanes.allSatisfy { $0.running == 0 }) }
    }

    @Test func `a pending write is found as if it were written`() async throws {
        try await have(7)
        let gate = DispatchSemaphore(value: 0)
        let tier = DiskTier<String, Int>(
            folder.cache(), name: { $0 }, decode: { _ in throw Broken() },
            encode: { value in
                gate.wait()
                return Array("\(value)".utf8)
            })
        let desk = Desk(disk: tier)
        desk.loader.store(8, for: "a")
        desk.loader.trim(to: 0)
        let listener = Listener(desk.loader, "a")
        #expect(await listener.next() == "8 from disk")
        gate.signal()
        await tier.settled()
        #expect(try await self.desk().loader.value(for: "a") == 8)
    }

    @Test func `C7 a confirmation that forbids storage removes the value from the disk`() async throws {
        try await have(7, Validity(expiresAt: Date(timeIntervalSince1970: 1), etag: "one"))
        let desk = desk()
        let listener = Listener(desk.loader, "a", .visible, .fresh)
        await desk.source.begin()
        desk.source.answer("a", .success(.unchanged(Validity(etag: "one"), isKeptOnDisk: false)))
        #expect(await listener.next() == "7 from source")
        await desk.loader.disk?.settled()
        #expect(folder.cache().entry(for: "a") == nil)
    }

    @Test(arguments: [true, false])
    func `C10 a removed value is not on the disk, even if a fetch of it ends at that moment`(isAll: Bool) async throws {
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

    /// A tier whose reads wait until the test opens the gate.
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

    @Test func `C1 a memory hit does not wait for the disk`() async throws {
        try await have(7)
        let (desk, gate) = slowDesk()
        desk.loader.store(1, for: "b")
        let listener = Listener(desk.loader, "a")
        #expect(desk.loader.cached("b") == 1)
        gate.signal()
        #expect(await listener.next() == "7 from disk")
    }

    @Test func `C6 a late disk read never becomes another key's value`() async throws {
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
