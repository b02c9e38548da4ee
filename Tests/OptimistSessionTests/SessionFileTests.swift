// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// File bodies.
@Suite(.timeLimit(.minutes(20)))
final class SessionFileTests {
    private let folder: URL
    private var file: URL { folder.appending(path: "picture.jpg") }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    /// A body of chunks that then ends or fails.
    private static func body(_ chunks: [String], failure: (any Error)? = nil) -> ResponseBody {
        ResponseBody(
            AsyncThrowingStream<[UInt8], any Error> { continuation in
                for chunk in chunks { continuation.yield(Array(chunk.utf8)) }
                continuation.finish(throwing: failure)
            })
    }

    @Test func `T12: a complete download replaces its target file`() async throws {
        let bench = Bench()
        bench.server.onRequest {
            TransportResponse(head: HTTPResponse(status: .ok), body: Self.body(["one ", "two"]))
        }
        try Data("old".utf8).write(to: file)
        let answer = try await bench.session.download(SessionRequest("/picture"), to: file)
        #expect(answer.status == .ok && answer.body.isEmpty)
        #expect(try String(contentsOf: file, encoding: .utf8) == "one two")
        #expect(try names() == ["picture.jpg"])
    }

    @Test func `T12: a broken, short or refused download keeps the old file and cleans up`()
        async throws
    {
        let bench = Bench()
        try Data("old".utf8).write(to: file)
        bench.server.onRequest {
            let broken = TransportError(.broken, .responseStarted)
            return TransportResponse(head: HTTPResponse(status: .ok), body: Self.body(["half"], failure: broken))
        }
        await #expect(throws: TransportError.self) {
            try await bench.session.download(SessionRequest("/picture"), to: self.file)
        }
        bench.server.onRequest {
            TransportResponse(
                head: HTTPResponse(status: .ok, headerFields: [.contentLength: "7"]), body: Self.body(["short"]))
        }
        await #expect(throws: TransportError.self) {
            try await bench.session.download(SessionRequest("/picture"), to: self.file)
        }
        bench.server.onRequest { TransportResponse(.notFound, "no such picture") }
        let answer = try await bench.session.download(SessionRequest("/picture"), to: file)
        #expect(answer.status == .notFound && answer.body == Array("no such picture".utf8))
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
        #expect(try names() == ["picture.jpg"])
    }

    @Test func `T12: a partial answer replaces the file only if the request asked for a range`()
        async throws
    {
        let bench = Bench()
        try Data("old".utf8).write(to: file)
        bench.server.onRequest {
            TransportResponse(.partialContent, "part", headerFields: [.contentRange: "bytes 0-3/10"])
        }
        await #expect(throws: TransportError.self) {
            try await bench.session.download(SessionRequest("/picture"), to: self.file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
        bench.server.onRequest {
            TransportResponse(.partialContent, "part", headerFields: [.contentRange: "bytes 0-3/10"])
        }
        let asked = SessionRequest("/picture", headerFields: [.range: "bytes=0-3"])
        #expect(try await bench.session.download(asked, to: file).status == .partialContent)
        #expect(try String(contentsOf: file, encoding: .utf8) == "part")
        #expect(try names() == ["picture.jpg"])
    }

    @Test(arguments: [1, 209, 210, 254, 255])
    func `T12: a file may have the longest name the disk allows`(length: Int) async throws {
        let bench = Bench()
        bench.server.onRequest { TransportResponse(.ok, "whole") }
        let target = folder.appending(path: String(repeating: "é", count: length / 2) + (length % 2 == 1 ? "x" : ""))
        _ = try await bench.session.download(SessionRequest("/picture"), to: target)
        #expect(try String(contentsOf: target, encoding: .utf8) == "whole")
        #expect(try names().count == 1)
    }

    @Test func `T12: a cancelled download leaves no file`() async throws {
        let bench = Bench()
        let (chunks, continuation) = AsyncStream<[UInt8]>.makeStream()
        bench.server.onRequest { TransportResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks)) }
        continuation.yield(Array("half".utf8))
        let (file, session) = (file, bench.session)
        let download = Task { try await session.download(SessionRequest("/picture"), to: file) }
        while try names().isEmpty { await Task.yield() }
        download.cancel()
        await #expect(throws: CancellationError.self) { try await download.value }
        #expect(try names().isEmpty)
    }

    @Test func `a download into a missing folder fails before any request`() async throws {
        let bench = Bench()
        let nowhere = folder.appending(path: "missing/picture.jpg")
        await #expect { try await bench.session.download(SessionRequest("/picture"), to: nowhere) } throws: {
            ($0 as? OptimistError)?.code == .fileUnwritable
        }
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `an upload is resent from its file, and a missing file is not sent`() async throws {
        let bench = Bench()
        try Data("picture".utf8).write(to: file)
        bench.server.refuse(upTo: 1)
        let answer = try await bench.session.upload(SessionRequest("/picture", method: .put), from: file)
        #expect(answer.status == .ok)
        let sent = bench.transport.requests.filter { $0.head.path == "/picture" }
        #expect(sent.map(\.bodyFile) == [file, file] && sent.allSatisfy { $0.headTimeout == .seconds(60) })
        await #expect {
            try await bench.session.upload(
                SessionRequest("/picture", method: .put), from: self.folder.appending(path: "missing"))
        } throws: {
            ($0 as? OptimistError)?.code == .fileUnreadable
        }
        #expect(bench.transport.requests.filter { $0.head.path == "/picture" }.count == 2)
    }

    @Test func `T12 uploading a folder or a pipe is refused before anything is sent`() async throws {
        let bench = Bench()
        let pipe = folder.appending(path: "pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let link = folder.appending(path: "link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder)
        for target in [folder, pipe, link] {
            await #expect {
                try await bench.session.upload(SessionRequest("/picture", method: .put), from: target)
            } throws: {
                ($0 as? OptimistError)?.code == .fileUnreadable
            }
        }
        #expect(bench.transport.requests.isEmpty)
        try Data("picture".utf8).write(to: file)
        let good = folder.appending(path: "good")
        try FileManager.default.createSymbolicLink(at: good, withDestinationURL: file)
        let answer = try await bench.session.upload(SessionRequest("/picture", method: .put), from: good)
        #expect(answer.status == .ok)
    }
}
