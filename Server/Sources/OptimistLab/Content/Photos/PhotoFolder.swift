// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire

/// Photos as poses. Names of subfolders are tags.
struct PhotoFolder: PoseCatalogue {
    private let photos: [Pose]
    private let files: [Pose.ID: URL]
    private let thumbnails: Thumbnails
    let choices: PoseChoices

    /// - Throws: `OptimistError` with code `badLabData` if the folder does not exist or does not contain a picture.
    init(_ folder: URL, cache: URL) throws {
        let root = folder.resolvingSymlinksInPath()
        guard (try? root.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true,
            let found = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        else {
            throw OptimistError(
                .badLabData, "\(folder.path) is not a readable folder. Choose another folder with --photos.")
        }
        var files: [Pose.ID: URL] = [:]
        var photos: [Pose] = []
        let paths = found.compactMap { ($0 as? URL)?.resolvingSymlinksInPath() }.sorted { $0.path < $1.path }
        for file in paths {
            guard file.path.hasPrefix(root.path + "/"), Self.types[file.pathExtension.lowercased()] != nil,
                let size = ImageSize(of: file)
            else { continue }
            let name = String(file.path.dropFirst(root.path.count + 1))
            let id = Base64URL.encode(Array(name.utf8))
            guard files.updateValue(file, forKey: id) == nil else { continue }
            photos.append(
                Pose(
                    id: id, width: size.width, height: size.height, people: nil, frames: 1,
                    tags: name.split(separator: "/").dropLast().map(String.init)))
        }
        guard !photos.isEmpty else {
            throw OptimistError(
                .badLabData,
                "\(folder.path) does not contain JPEG, PNG, GIF or WebP pictures. Choose another folder with --photos.")
        }
        (self.photos, self.files) = (photos, files)
        thumbnails = Thumbnails(folder: cache)
        choices = PoseChoices(tags: Set(photos.flatMap(\.tags)).sorted())
    }

    private static let types = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    ]

    func poses(in section: PoseSection) -> any Sequence<Pose> {
        switch section {
        case .chosen: photos.prefix(8)
        case .recommended: photos.dropFirst(8)
        }
    }

    func picture(of id: Pose.ID, width: Int?) async throws -> Picture? {
        guard let file = files[id], let type = Self.types[file.pathExtension.lowercased()] else { return nil }
        if let width, let small = try await thumbnails.thumbnail(of: file, id, width: width) {
            return Picture(type: "image/jpeg", bytes: small)
        }
        guard let bytes = try? Data(contentsOf: file) else { return nil }
        return Picture(type: type, bytes: [UInt8](bytes))
    }
}
