// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer
@_spi(Internals) import OptimistWire
import Subprocess

/// Creates and caches thumbnails of photos, if libvips is installed.
actor Thumbnails {
    private let folder: URL
    private var making: [URL: Task<[UInt8]?, Never>] = [:]

    init(folder: URL) {
        self.folder = folder
    }

    /// Returns a JPEG, or nil if libvips is not installed or cannot read the photo.
    func thumbnail(of photo: URL, _ id: String, width: Int) async throws -> [UInt8]? {
        let name = Base64URL.encode(SHA256.hash(id.utf8))
        let file = folder.appending(path: "\(name)-\(width).jpg")
        if let changed = Self.changed(photo), let made = Self.changed(file), made >= changed {
            return (try? Data(contentsOf: file)).map { [UInt8]($0) }
        }
        if let task = making[file] { return await task.value }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Unstructured, so that all callers get the result, even if the first caller is cancelled.
        let task = Task { await Self.make(file, of: photo, width: width) }
        making[file] = task
        defer { making[file] = nil }
        return await task.value
    }

    private static func make(_ file: URL, of photo: URL, width: Int) async -> [UInt8]? {
        let draft = file.appendingPathExtension("draft.jpg")
        let program = try? await run(
            .name("vipsthumbnail"),
            arguments: [photo.path, "--size", "\(width)x100000>", "-o", "\(draft.path)[Q=82,strip]"],
            output: .discarded)
        guard program?.terminationStatus.isSuccess == true, let bytes = try? Data(contentsOf: draft),
            rename(draft.path, file.path) == 0
        else { return nil }
        return [UInt8](bytes)
    }

    private static func changed(_ file: URL) -> Date? {
        (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date
    }
}
