// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import TestForm
import Testing

@testable import Optimist
@testable import OptimistCore

/// Counts made before the server has confirmed that the file did not go back.
@Suite(.timeLimit(.minutes(20)))
struct LaunchOriginTests {
    static let present: Int64 = 1_790_000_000_000
    private static let year: Int64 = 365 * 86_400_000

    let server = AppServer()
    let phone: Device
    let photo = Photo(title: "Lake")

    init() throws { phone = try Device([Photo.self], at: Self.present, migrate: Photo.migrate) }

    func relaunch(_ device: Device) throws { try device.open([Photo.self], migrate: Photo.migrate) }

    private func count(_ added: Int, on device: Device) async throws {
        device.advance(60_000)
        try await device.execute("UPDATE photo SET likes = likes + \(added)")
    }

    /// A device with a copy of a file, by default the phone's, and another time of day.
    func copy(of original: Device? = nil, after milliseconds: Int64 = 0) throws -> Device {
        let device = try Device([Photo.self], at: Self.present + milliseconds, migrate: Photo.migrate)
        try (original ?? phone).store.pool.backup(to: device.store.pool)
        try relaunch(device)
        return device
    }

    /// Puts a photo on the phone and on the server.
    func begin() async throws {
        try await phone.store.write { [photo] in try photo.insert($0) }
        try await phone.sync(with: server)
    }

    func expect(_ likes: Int, on devices: [Device], location: SourceLocation = #_sourceLocation) async throws {
        for _ in 0..<2 { for device in devices { try await device.sync(with: server) } }
        #expect(server.sums("photo", "likes").values.first == Int64(likes), sourceLocation: location)
        for device in devices {
            let shown = try await device.store.read { try Int.fetchOne($0, sql: "SELECT likes FROM photo") }
            #expect(shown == likes, sourceLocation: location)
            #expect(try await device.store.counts().pending == 0, sourceLocation: location)
        }
    }

    private func rows(of table: String, on device: Device) async throws -> Int {
        try await device.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    @Test(arguments: [-year, 0, year])
    func `M3 L3 a restored device keeps its new counts and the counts it had sent, whatever its clock`(
        milliseconds: Int64
    ) async throws {
        try await begin()
        let restored = try copy(after: milliseconds)
        try await count(2, on: phone)
        try await phone.sync(with: server)
        try await count(5, on: restored)
        try await expect(7, on: [restored])
    }

    @Test(arguments: [-year, 0, year], [false, true])
    func `M3 L3 counts that are unsent when a file is copied are added once, even if the original sends them`(
        milliseconds: Int64, wasSent: Bool
    ) async throws {
        try await begin()
        try await count(1, on: phone)
        try relaunch(phone)
        try await count(3, on: phone)
        let restored = try copy(after: milliseconds)
        if wasSent {
            try await phone.sync(with: server)
            try await count(10, on: phone)
            try await phone.sync(with: server)
        }
        try await count(5, on: restored)
        try await expect(wasSent ? 19 : 9, on: [restored])
    }

    @Test func `M3 L3 counts from many launches after a restore are kept`() async throws {
        try await begin()
        let restored = try copy(after: -Self.year)
        try await count(2, on: phone)
        try await phone.sync(with: server)
        for added in 1...4 {
            try await count(added, on: restored)
            try relaunch(restored)
        }
        try await expect(12, on: [restored])
    }

    @Test(arguments: [false, true])
    func
        `M3 L3 after a file is copied to a second device, earlier and later counts each count once`(
            isCopyFirst: Bool
        ) async throws
    {
        try await begin()
        try relaunch(phone)
        try await count(3, on: phone)
        let second = try copy()
        try await count(1, on: phone)
        try await count(5, on: second)
        for _ in 0..<2 { try await second.store.recognise(install: UUID()) }
        try await expect(9, on: isCopyFirst ? [second, phone] : [phone, second])
        try await count(1, on: phone)
        try await count(1, on: second)
        try await expect(11, on: [phone, second])
    }

    @Test func `M3 L3 a restored server receives moved totals and counts nothing under their former id`() async throws {
        try await begin()
        try relaunch(phone)
        try await count(3, on: phone)
        let restored = try copy()
        try await phone.sync(with: server)
        let former = AppServer()
        try await phone.store.rewind(
            ["photo"], at: nil, to: [RemoteEpoch(name: "m", firstSeq: 0), RemoteEpoch(name: "n", firstSeq: 0)])
        let push = try #require(try await phone.next()).push
        _ = try await former.push(push)
        try await restored.store.renewDeviceID()
        let stale = try #require(try await restored.next()).push
        _ = try await former.push(stale)
        #expect(former.sums("photo", "likes").values.first == 3)
    }

    @Test func `M3 a launch counts under a separate id until the server answers, and then under the device's`()
        async throws
    {
        try await begin()
        #expect(try await rows(of: "optimist_node", on: phone) == 1, "the file was created in this launch")
        try relaunch(phone)
        try await count(3, on: phone)
        #expect(try await rows(of: "optimist_node", on: phone) == 2)
        try await expect(3, on: [phone])
        try await count(2, on: phone)
        try await expect(5, on: [phone])
        let device = try await phone.store.read { try DeviceIdentity.current(in: $0) }
        #expect(try await phone.store.origins() == [device])
        let totals = try await phone.store.read { db in
            try Row.fetchAll(
                db, sql: "SELECT total, confirmed FROM optimist_counter ORDER BY total DESC"
            ).map(\.description)
        }
        #expect(totals == ["[total:5 confirmed:5]", "[total:0 confirmed:0]"])
    }

    @Test func `M3 W2 another process's counts are added, before and after they move to the device's id`()
        async throws
    {
        try await begin()
        let other = try Store(
            at: phone.file, synced: [Photo.self], durability: .normal, migrate: Photo.migrate)
        for _ in 0..<3 {
            try await other.write { try $0.execute(sql: "UPDATE photo SET likes = likes + 1") }
            try await count(1, on: phone)
            try await phone.store.lookForOthers()
            try await phone.sync(with: server)
        }
        try await expect(6, on: [phone])
    }

    private func sync(_ remote: FakeBackend, until isDone: () async throws -> Bool) async throws {
        let engine = SyncEngine(store: phone.store, remote: remote, reachability: ManualReachability())
        let running = Task { await engine.run() }
        while try await !isDone() { await Task.yield() }
        running.cancel()
        await running.value
    }

    @Test func `M3 S5 a launch checks once whether the file went back, and again if no answer arrives`() async throws {
        try await begin()
        try relaunch(phone)
        let (backend, store) = (FakeBackend(), phone.store)
        backend.settings.withLock { $0.pushFailures = 2 }
        try await sync(backend) { try await store.rewindChecks().isEmpty }
        let device = try await store.read { try DeviceIdentity.current(in: $0) }
        let checks = backend.settings.withLock { $0.pushes }.filter(\.rows.isEmpty)
        #expect(checks == [RemotePush(number: 1, device: device, rows: [])])
    }

    @Test func `M3 S8 sync does not wait if a remote cannot report whether the file went back`() async throws {
        let backend = FakeBackend()
        backend.settings.withLock { $0.refusesChecks = true }
        try await phone.store.write { [photo] in try photo.insert($0) }
        for added in 1...3 {
            let store = phone.store
            try await sync(backend) { try await store.counts().pending == 0 }
            try relaunch(phone)
            try await count(added, on: phone)
        }
        #expect(backend.settings.withLock { $0.pushes }.map(\.origins.count) == [1, 2, 3])
        #expect(phone.store.capture.launchOrigin != nil)
    }

    @Test(arguments: [-1, 1])
    func `M3 S4 counts added while moved totals are in flight are kept, even if the clock does not advance`(added: Int)
        async throws
    {
        try await begin()
        try relaunch(phone)
        try await count(3, on: phone)
        _ = try await server.push(try #require(try await phone.store.rewindChecks().first))
        phone.store.countUnderOwnID()
        let batch = try #require(try await phone.next())
        let verdicts = try await server.push(batch.push)
        try await phone.execute("UPDATE photo SET likes = likes + \(added)")
        try await phone.store.apply(verdicts, of: batch)
        try await expect(3 + added, on: [phone])
    }

    @Test func `M3 W1 a transaction counts under one id, whatever the server answers during it`() async throws {
        try await begin()
        try relaunch(phone)
        let store = phone.store
        try await store.write { [photo] db in
            try db.execute(sql: "UPDATE photo SET likes = likes + 1")
            store.countUnderOwnID()
            try Photo(title: "Hill", likes: 1).insert(db)
            try db.execute(sql: "UPDATE photo SET likes = likes + 1 WHERE id = ?", arguments: [photo.id])
        }
        let ids = try await store.read {
            try Int.fetchOne($0, sql: "SELECT count(DISTINCT node) FROM optimist_counter")
        }
        #expect(ids == 1)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.sorted() == [2, 3])
    }

    /// An older version of this library, or a copy of the file, sends a launch's counts under the launch's id.
    @Test(arguments: [false, true])
    func `M3 L5 totals that the server has under a launch's id keep that id`(fromCopy: Bool) async throws {
        try await begin()
        try relaunch(phone)
        try await count(3, on: phone)
        if fromCopy {
            let second = try copy()
            try await second.store.renewDeviceID()
            try await second.sync(with: server)
            try await phone.apply(try await phone.pull(from: server))
            for added in [1, -1] { try await count(added, on: phone) }
        } else {
            let batch = try #require(try await phone.next())
            try await phone.store.apply(try await server.push(batch.push), of: batch)
        }
        #expect(try await phone.store.counts().pending == 0)
        let other = try Device([Photo.self], at: Self.present, migrate: Photo.migrate)
        for _ in 0..<2 { for device in [phone, other] { try await device.sync(with: server) } }
        try await count(1, on: other)
        try await expect(4, on: [other, phone])
        try await count(1, on: phone)
        try await expect(5, on: [phone, other])
    }

    @Test func `M3 R5 a total of zero stays zero if a later page arrives before the answer`() async throws {
        try await begin()
        try relaunch(phone)
        try await count(3, on: phone)
        let restored = try copy()
        try await phone.sync(with: server)
        try await restored.store.renewDeviceID()
        let batch = try #require(try await restored.next())
        let verdicts = try await server.push(batch.push)
        let other = try Device([Photo.self], at: Self.present, migrate: Photo.migrate)
        try await other.sync(with: server)
        try await count(1, on: other)
        try await other.sync(with: server)
        try await restored.apply(try await restored.pull(from: server))
        try await restored.store.apply(verdicts, of: batch)
        try await expect(4, on: [restored, other])
    }

    @Test func `M3 L1 counts by a migration in a restored file do not lower the sum`() async throws {
        @Sendable func counting(_ migrator: inout DatabaseMigrator) {
            Photo.migrate(&migrator)
            migrator.registerMigration("count") { try $0.execute(sql: "UPDATE photo SET likes = likes + 1") }
        }
        try await begin()
        let restored = try copy(after: Self.year)
        try await count(3, on: phone)
        try await phone.sync(with: server)
        for device in [phone, restored] {
            try device.open([Photo.self], migrate: counting)
            try await device.sync(with: server)
        }
        try await expect(5, on: [restored])
    }

    @Test func `M3 W3 undoing a sent count in a restored file undoes it on the server`()
        async throws
    {
        try await begin()
        try await count(1, on: phone)
        let restored = try copy()
        try await phone.sync(with: server)
        try await count(-1, on: restored)
        #expect(try await restored.store.counts().pending == 1)
        let other = try Device([Photo.self], at: Self.present, migrate: Photo.migrate)
        try await expect(0, on: [restored, other])
    }

    @Test func `M3 L2 a table adopted again in a restored file does not lower the sum`() async throws {
        let phone = try Device([], at: Self.present, migrate: Photo.migrate)
        try await phone.store.write { [photo] db in
            try photo.insert(db)
            try db.execute(sql: "UPDATE photo SET likes = 5")
        }
        let restored = try copy(of: phone, after: Self.year)
        try relaunch(phone)
        try await phone.sync(with: server)
        try await count(3, on: phone)
        try await phone.sync(with: server)
        try await count(1, on: restored)
        try await expect(9, on: [restored])
    }

    @Test func `M3 L3 a copied file counts once even if its clock was far behind`() async throws {
        let (past, years) = (try Device([Photo.self], at: 1_000_000, migrate: Photo.migrate), Self.present)
        try await past.store.write { [photo] in try photo.insert($0) }
        try await past.sync(with: server)
        try relaunch(past)
        try await count(3, on: past)
        let second = try copy(of: past, after: -years)
        try await past.sync(with: server)
        try await count(1, on: past)
        try await past.sync(with: server)
        try await second.store.renewDeviceID()
        try await expect(4, on: [second, past])
    }

    @Test(arguments: [false, true])
    func
        `M3 L5 W3 a count undone before it is sent adds nothing, and within one launch leaves no total`(
            inOneLaunch: Bool
        )
        async throws
    {
        try await begin()
        for _ in 0..<5 {
            try relaunch(phone)
            try await count(1, on: phone)
            if !inOneLaunch { try relaunch(phone) }
            try await count(-1, on: phone)
            try await expect(0, on: [phone])
        }
        #expect(try await rows(of: "optimist_counter", on: phone) == (inOneLaunch ? 0 : 11))
        try relaunch(phone)
        try await count(2, on: phone)
        try await expect(2, on: [phone])
    }

    @Test
    func `M3 L5 a row stores the totals of a limited number of launches, however often the device starts offline`()
        async throws
    {
        try await begin()
        for _ in 0..<(LaunchOrigin.maxUnconfirmed + 6) {
            try relaunch(phone)
            try await count(1, on: phone)
        }
        #expect(try await rows(of: "optimist_counter", on: phone) == LaunchOrigin.maxUnconfirmed)
        try await expect(LaunchOrigin.maxUnconfirmed + 6, on: [phone])
        try relaunch(phone)
        try await count(1, on: phone)
        try await expect(LaunchOrigin.maxUnconfirmed + 7, on: [phone])
        let launches = TestForm.of(short: 6, full: LaunchOrigin.maxRemembered - LaunchOrigin.maxUnconfirmed + 6)
        for _ in 0..<launches {
            try relaunch(phone)
            try await count(1, on: phone)
            try await phone.sync(with: server)
        }
        try await expect(LaunchOrigin.maxUnconfirmed + 7 + launches, on: [phone])
        #expect(try await rows(of: "optimist_counter", on: phone) <= LaunchOrigin.maxRemembered + 2)
        #expect(try await rows(of: "optimist_node", on: phone) <= LaunchOrigin.maxRemembered + 2)
    }
}
