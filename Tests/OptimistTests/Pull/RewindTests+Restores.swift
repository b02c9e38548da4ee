// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

extension RewindTests {
    /// Two devices make various changes, and everything is synced.
    private func live(_ a: Reader, _ b: Reader) async throws {
        try await a.sync()
        try await b.sync()
        try await a.write("INSERT INTO shelf VALUES (?, 'New')", [id(5)])
        try await a.write("INSERT INTO book VALUES (?, 'On the new shelf', 9, ?)", [id(20), id(5)])
        try await a.write("UPDATE book SET title = 'Changed' WHERE id = ?", [id(11)])
        try await a.sync()
        try await b.sync()
        try await b.write("UPDATE book SET pages = 5 WHERE id = ?", [id(11)])
        try await b.write("DELETE FROM book WHERE id = ?", [id(12)])
        try await b.sync()
        try await a.sync()
    }

    @Test(arguments: ["both", "only a", "only b", "a third one"])
    func `L3 devices send a restored server its lost rows, with the original clocks`(who: String) async throws {
        let (a, b, c) = (try Reader(backend), try Reader(backend), try Reader(backend))
        let backup = backend.backup()
        try await live(a, b)
        if who == "a third one" { try await c.sync() }
        let before = backend.essence
        backend.restore(backup, as: "e2")
        #expect(backend.rows("shelf").count == 3)
        for reader in who == "both" ? [a, b] : who == "only a" ? [a] : who == "only b" ? [b] : [c] {
            try await reader.sync()
            try await reader.sync()
        }
        #expect(backend.rows("book")[id(20).uuidString.lowercased()]?["title"] == "On the new shelf")
        if who != "a third one" {
            #expect(backend.essence == before)
        }
        for reader in [a, b, a] { try await reader.sync() }
        for reader in [a, b] { #expect(try await reader.isEqualToBackend()) }
        #expect(backend.essence == before)
    }

    @Test func `L3 an edit of a row that the server lost keeps the row`() async throws {
        let (a, b) = (try Reader(backend), try Reader(backend))
        let backup = backend.backup()
        try await live(a, b)
        backend.restore(backup, as: "e2")
        try await a.write("UPDATE book SET pages = 77 WHERE id = ?", [id(20)])
        try await a.sync()
        try await b.sync()
        #expect(backend.rows("book")[id(20).uuidString.lowercased()]?["pages"] == 77)
        #expect(backend.rows("book")[id(20).uuidString.lowercased()]?["title"] == "On the new shelf")
        for reader in [a, b] { #expect(try await reader.isEqualToBackend()) }
    }

    @Test func `L3 writes after the restore win by their clocks, and concurrent edits stay`() async throws {
        let (a, b) = (try Reader(backend), try Reader(backend))
        let backup = backend.backup()
        try await live(a, b)
        backend.restore(backup, as: "e2")
        let later = max(a.milliseconds, b.milliseconds) + 1000
        backend.write("book", [id(11)], ["title": "Later"], at: later)
        backend.write("book", [id(13)], nil, at: later)
        try await a.write("UPDATE book SET pages = 1 WHERE id = ?", [id(14)])
        for reader in [a, b, a] { try await reader.sync() }
        #expect(backend.rows("book")[id(11).uuidString.lowercased()]?["title"] == "Later")
        #expect(backend.rows("book")[id(11).uuidString.lowercased()]?["pages"] == 5)
        for reader in [a, b] { #expect(try await reader.isEqualToBackend()) }
    }

    @Test func `L3 three restores in a row lose nothing`() async throws {
        let (a, b) = (try Reader(backend), try Reader(backend))
        let first = backend.backup()
        try await live(a, b)
        backend.restart(as: "e2")
        try await a.write("UPDATE book SET title = 'Second' WHERE id = ?", [id(14)])
        try await a.sync()
        let second = backend.backup()
        try await a.write("UPDATE book SET title = 'Third' WHERE id = ?", [id(14)])
        try await a.sync()
        backend.restore(first, as: "e3")
        try await b.sync()
        backend.restore(second, as: "e4")
        for reader in [a, b, a, b] { try await reader.sync() }
        #expect(backend.rows("book")[id(14).uuidString.lowercased()]?["title"] == "Third")
        for reader in [a, b] { #expect(try await reader.isEqualToBackend()) }
    }

    @Test func `L3 devices resend nothing to a server that restarts in the same state`() async throws {
        let reader = try Reader(backend)
        try await reader.sync()
        try await reader.write("UPDATE book SET title = 'Changed' WHERE id = ?", [id(11)])
        try await reader.sync()
        let pushes = backend.pushes.count
        backend.restart(as: "e2")
        backend.write("book", [id(30)], ["title": "New"])
        try await reader.sync()
        #expect(backend.pushes.count == pushes)
        #expect(try await reader.isEqualToBackend())
        backend.restart(as: "e3")
        try await reader.write("UPDATE book SET title = 'Again' WHERE id = ?", [id(11)])
        try await reader.sync()
        try await reader.sync()
        #expect(backend.pushes.count <= pushes + 2)
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `L3 a device receives a row that was deleted before its first sync and returned by a restore`()
        async throws
    {
        let backup = backend.backup()
        backend.write("book", [id(12)], nil)
        let reader = try Reader(backend)
        try await reader.sync()
        #expect(try await reader.rows("book").count == 3)
        backend.restore(backup, as: "e2")
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(try await reader.rows("book").count == 4)
    }

    @Test func `L3 W3 undoing an edit of a restored row still restores the row`() async throws {
        let (a, b) = (try Reader(backend), try Reader(backend))
        let backup = backend.backup()
        try await live(a, b)
        backend.restore(backup, as: "e2")
        try await a.store.rewind(["book", "shelf", "tag"], at: nil, to: backend.state.withLock { $0.epochs })
        let pending = try await a.store.counts().pending
        #expect(pending >= 4)
        try await a.write("UPDATE book SET pages = 1 WHERE id = ?", [id(20)])
        try await a.write("UPDATE book SET pages = 9 WHERE id = ?", [id(20)])
        #expect(try await a.store.counts().pending == pending)
        try await a.sync()
        #expect(backend.rows("book")[id(20).uuidString.lowercased()]?["pages"] == 9)
        #expect(try await a.isEqualToBackend())
    }

    @Test func `L3 the restoring of a server can be killed at any point`() async throws {
        let (a, b) = (try Reader(backend), try Reader(backend))
        let backup = backend.backup()
        try await live(a, b)
        let before = backend.essence
        backend.restore(backup, as: "e2")
        for run in 0..<12 {
            try await a.syncKilled(run: run)
        }
        backend.settings.withLock { $0.answers = .max }
        for reader in [a, b, a] { try await reader.sync() }
        #expect(backend.essence == before)
        for reader in [a, b] { #expect(try await reader.isEqualToBackend()) }
    }
}
