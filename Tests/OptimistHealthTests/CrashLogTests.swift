// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire
import Testing

@testable import OptimistHealth

/// Crash logs of Swift's runtime and of MetricKit.
struct CrashLogTests {
    private static let log = """
        { "timestamp": "2026-11-26T09:03:10.586853Z", "kind": "crashReport", "description": "DESCRIPTION",
          "faultAddress": "0x1", "platform": "Linux", "architecture": "x86_64", "threads": [
            { "frames": [] },
            { "name": "c", "crashed": true, "registers": {}, "frames": [
              { "kind": "programCounter", "address": "0x00007fd415ef9361", "symbol": "SYMBOL", "offset": 225,
                "description": "x", "image": "libswiftCore.so" },
              { "kind": "returnAddress", "address": "0x0000561bbc4a617a", "symbol": "$s1c5login", "offset": 10,
                "description": "LoginModel.loginMember() + 10", "image": "c",
                "sourceLocation": { "file": "/home/kim/c.swift", "line": 3, "column": 47 } },
              { "kind": "truncated" } ] } ],
          "images": [
            { "name": "c", "buildId": "5a4a", "path": "/app/c", "baseAddress": "0x0000561bbc4a5000", "endOfText": "0x2" },
            { "name": "libswiftCore.so", "buildId": "b521", "path": "/opt/swift/usr/lib/swift/linux/libswiftCore.so",
              "baseAddress": "0x00007fd415c00000", "endOfText": "0x2" } ] }
        """

    private func signature(_ description: String, _ symbol: String = "other") throws -> CrashSignature {
        let text = Self.log.replacing("DESCRIPTION", with: description).replacing("SYMBOL", with: symbol)
        return try JSONDecoder().decode(SwiftBacktrace.self, from: Data(text.utf8)).signature
    }

    @Test func `A5 a log of Swift's runtime becomes a signature of the app's own frames`() throws {
        let found = try signature("Swift runtime failure: \(RuntimeFailure.foundNil)")
        #expect(found.kind == "Fatal error" && found.message == RuntimeFailure.foundNil)
        #expect(
            found.frames == [
                .init(
                    image: "5a4a", offset: 0x117a, function: "LoginModel.loginMember()", file: "/home/kim/c.swift",
                    line: 3)
            ])
        #expect(try signature("Bad pointer dereference").kind == "Bad pointer dereference")
        #expect(try signature("Illegal instruction", "$ss17_assertionFailure__4file").kind == "Fatal error")
        #expect(
            try signature("Illegal instruction", "$ss30_diagnoseUnexpectedNilOptional14_").message
                == RuntimeFailure.foundNil)
    }

    @Test func `A5 other files in the folder are neither read nor removed`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-logs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["c-12-0.0.json", "c-13-0.0.json", "notes.txt", "c.json"] {
            try Data((name == "c-13-0.0.json" ? "{" : Self.log).utf8).write(to: folder.appending(path: name))
        }
        let source = SwiftBacktraceSource(at: folder)
        let found = try source.reports()
        #expect(found.map(\.process) == [12])
        source.forget(found)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == ["c-13-0.0.json", "c.json", "notes.txt"])
    }

    @Test func `A5 a MetricKit stack gives the app's own frames, innermost first`() throws {
        let json = """
            {"callStackTree": {"callStackPerThread": true, "callStacks": [
              {"threadAttributed": false, "callStackRootFrames": [{"binaryName": "x"}]},
              {"threadAttributed": true, "callStackRootFrames": [
                {"binaryUUID": "AA", "offsetIntoBinaryTextSegment": 1, "binaryName": "libswiftCore.dylib", "subFrames": [
                  {"binaryUUID": "70B89F27-1634-3580-A695-57CDB41D7743", "offsetIntoBinaryTextSegment": 165304,
                   "sampleCount": 1, "binaryName": "Campus", "address": 7170766264, "subFrames": [
                    {"binaryUUID": "70B8", "offsetIntoBinaryTextSegment": 7, "binaryName": "Campus"}]}]}]}]}}
            """
        let stack = try JSONDecoder().decode(MetricKitStack.self, from: Data(json.utf8))
        #expect(stack.ownFrames(of: ["Campus"], beginsInnermost: true).map(\.offset) == [165_304, 7])
        #expect(stack.ownFrames(of: ["Campus"], beginsInnermost: false).map(\.offset) == [7, 165_304])
    }
}
