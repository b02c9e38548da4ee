// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistHealth
import OptimistWire
import Synchronization

/// The reports of crashes that a phone's system has written: a file, which is there at the next launch.
final class CrashShelf: CrashSource {
    private struct Kept: Codable {
        var id: String
        var process: Int32
        var date: Date
        var signature: CrashSignature
    }

    private let file: URL
    /// Held while the file is read and written.
    private let turn = Mutex(())

    init(_ file: URL) { self.file = file }

    /// Writes a report of a crash that happens now.
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
        // A report that stays is known by its id, and changes nothing.
        turn.withLock { _ in try? write(read().filter { !ids.contains($0.id) }) }
    }

    private func read() throws -> [Kept] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try JSONDecoder().decode([Kept].self, from: Data(contentsOf: file))
    }

    private func write(_ reports: [Kept]) throws { try JSONEncoder().encode(reports).write(to: file, options: .atomic) }
}
