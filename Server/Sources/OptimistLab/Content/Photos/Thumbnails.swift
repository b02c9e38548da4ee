// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
import Foundation
import OptimistWire

/// Smaller forms of photos, made by libvips if the system has it, and kept.
actor Thumbnails {
    private let folder: URL
    private let program: URL?
    /// Those under way, by their files.
    private var making: [URL: Task<[UInt8]?, Never>] = [:]

    init(folder: URL) {
        self.folder = folder
        program = Self.program("vipsthumbnail")
    }

    /// A JPEG of at most so many pixels' width. Nil: there is no libvips, or it cannot read the photo.
    func thumbnail(of photo: URL, _ id: String, width: Int) async throws -> [UInt8]? {
        guard let program else { return nil }
        let name = Base64URL.encode(Array(SHA256.hash(data: Array(id.utf8))))
        let file = folder.appending(path: "\(name)-\(width).jpg")
        if let changed = Self.changed(photo), let made = Self.changed(file), made >= changed {
            return (try? Data(contentsOf: file)).map { [UInt8]($0) }
        }
        if let task = making[file] { return await task.value }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Unstructured, so that everybody who waits for it gets it, whoever asked first.
        let task = Task { await Self.make(file, of: photo, width: width, by: program) }
        making[file] = task
        defer { making[file] = nil }
        return await task.value
    }

    private static func make(_ file: URL, of photo: URL, width: Int, by program: URL) async -> [UInt8]? {
        let draft = file.appendingPathExtension("draft.jpg")
        let process = Process()
        process.executableURL = program
        process.arguments = [photo.path, "--size", "\(width)x100000>", "-o", "\(draft.path)[Q=82,strip]"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let hasWorked = await withCheckedContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus == 0) }
            do { try process.run() } catch {
                process.terminationHandler = nil
                continuation.resume(returning: false)
            }
        }
        guard hasWorked, let bytes = try? Data(contentsOf: draft), rename(draft.path, file.path) == 0 else {
            return nil
        }
        return [UInt8](bytes)
    }

    private static func changed(_ file: URL) -> Date? {
        (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date
    }

    private static func program(_ name: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { URL(filePath: String($0)).appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
