// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistHealth
import OptimistWire
import Synchronization

/// The crash reports that the phone's system writes and the next launch reads.
final class CrashShelf: CrashSource {
    private struct Kept: Codable {
        var id: String
        var process: Int32
        var date: Date
        var signature: CrashSignature
    }

    private let file: URL
    private let turn = Mutex(())

    init(_ file: URL) { self.file = file }

    func add(_ signature: CrashSignature) throws {
        try turn.withLock { _ in
            let process = ProcessInfo.processInfo.processIdentifier
            let report = Kept(id: UUID().uuidString, process: process, date: Date(), signature: signature)
            try write(try read() + [report])
        }
    }

    func reports() throws -> [CrashReport] {
        try turn.withLock { _ in
            try read().map {
                CrashReport(id: $0.id, kind: .crash, process: $0.process, date: $0.date, signature: $0.signature)
            }
        }
    }

    func forget(_ reports: [CrashReport]) {
        let ids = Set(reports.map(\.id))
        // A remaining report is recognized by its id and not counted again.
        turn.withLock { _ in try? write(read().filter { !ids.contains($0.id) }) }
    }

    private func read() throws -> [Kept] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try JSONDecoder().decode([Kept].self, from: Data(contentsOf: file))
    }

    private func write(_ reports: [Kept]) throws { try JSONEncoder().encode(reports).write(to: file, options: .atomic) }
}
