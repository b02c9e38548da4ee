// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The data directory: its permissions, and changes while the server runs.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct DataFileTests {
    let site = Site()

    private func mode(_ name: String = "") throws -> Int? {
        let path = name.isEmpty ? site.directory.path : site.directory.appending(path: name).path
        return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func set(_ mode: Int, _ name: String = "") throws {
        let path = name.isEmpty ? site.directory.path : site.directory.appending(path: name).path
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func `a directory and files open to other users are restricted to the owner`() async throws {
        try FileManager.default.createDirectory(at: site.directory, withIntermediateDirectories: true)
        try set(0o755)
        try await use()
        for name in ["optimist.sqlite", "keys.json"] { try set(0o644, name) }
        try set(0o755)
        try await use()
    }

    private func use() async throws {
        let server = try await site.open()
        _ = try await server.signUp("\(UUID().uuidString)@x.org")
        #expect(try mode() == 0o700)
        for name in ["optimist.sqlite", "optimist.sqlite-wal", "optimist.sqlite-shm", "keys.json", "optimist.lock"] {
            #expect(try mode(name) == 0o600, "\(name)")
        }
    }

    @Test func `a directory that others use is left unchanged, and the refusal names the command`() async throws {
        try FileManager.default.createDirectory(at: site.directory, withIntermediateDirectories: true)
        try Data().write(to: site.directory.appending(path: "index.html"))
        try set(0o755)
        let refusal = await #expect(throws: OptimistError.self) { try await site.open() }
        #expect(refusal?.code == .exposedData)
        #expect(refusal?.message.contains("chmod 700 '\(site.directory.path)'") == true)
        #expect(try mode() == 0o755)
        try set(0o700)
        _ = try await site.open()
    }

    @Test func `a database that is replaced or removed while the server runs accepts no more writes`() async throws {
        for isReplaced in [true, false] {
            let site = Site()
            try await site.serving { server, http async throws in
                let person = try await http.signUp()
                // A write would join a transaction that began earlier, such as the first housekeeping.
                await site.untilHousekeepingRests()
                #expect(try await http.get("/readyz").status == 200)
                let aside = site.directory.appending(path: "aside")
                try FileManager.default.moveItem(at: site.file, to: aside)
                if isReplaced { try FileManager.default.copyItem(at: aside, to: site.file) }
                let create: JSON = ["create": ["k": ["content": "x"]]]
                let refusal = await #expect(throws: RequestProblem.self) {
                    try await server.call(person, "todo/set", create)
                }
                #expect(refusal?.status == 503 && refusal?.detail.contains("replaced") == true)
                site.advance(by: 2)
                let ready = try await http.get("/readyz")
                #expect(ready.status == 503 && ready.json["detail"]?.string?.contains("replaced") == true)
                #expect(try await http.get("/healthz").status == 200)
            }
        }
    }

    @Test func `a server is not ready until another program's lock on its database is released`() async throws {
        try await site.serving { _, http async throws in
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            configuration.busyMode = .timeout(120)
            // The lock is taken after the server's own first writes, so that none of them waits for it.
            await site.untilHousekeepingRests()
            let other = try DatabaseQueue(path: site.file.path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let locked = try await http.get("/readyz")
            #expect(locked.status == 503 && locked.json["detail"]?.string?.contains("locked") == true)
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            // The answer is cached for a second.
            #expect(try await http.get("/readyz").status == 503)
            site.advance(by: 2)
            #expect(try await http.get("/readyz").status == 200)
        }
    }
}
