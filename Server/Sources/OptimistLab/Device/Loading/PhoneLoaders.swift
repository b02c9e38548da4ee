// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistFetching
import OptimistLoading
import OptimistSession

/// A phone's loaders, for pictures by path and for names of places.
struct PhoneLoaders: Sendable {
    let pictures: Loader<String, Picture>
    let places: Loader<PlaceKey, Place>
    let disk: DiskCache

    init(folder: URL, session: Session) {
        let source = HTTPSource(session)
        disk = DiskCache(at: folder, limits: DiskLimits(sizeBytes: 50_000_000))
        pictures = Loader(
            limits: LoaderLimits(memory: MemoryLimits(costBytes: 8 << 20)),
            disk: DiskTier(disk, name: { "picture\($0)" }, decode: Picture.init(decoding:)), cost: \.bytes.count,
            failureTTL: HTTPStatusError.pauseIfMissing
        ) { fetch in
            try await source.fetch(fetch, from: fetch.key) { try Picture(decoding: $0) }
        }
        places = Loader(placesFrom: source, disk: DiskTier(places: disk))
    }

    func removeAll() {
        pictures.removeAll()
        places.removeAll()
    }
}

extension Picture {
    /// - Throws: `OptimistError` if browsers cannot show the picture.
    init(decoding bytes: [UInt8]) throws {
        guard let type = Self.signatures.first(where: { bytes.starts(with: $0.bytes) })?.type else {
            throw OptimistError(.badLabData, "The server did not send a picture.")
        }
        self.init(type: type, bytes: bytes)
    }

    private static let signatures: [(bytes: [UInt8], type: String)] = [
        (Array("<svg".utf8), "image/svg+xml"), ([0xFF, 0xD8, 0xFF], "image/jpeg"),
        ([0x89, 0x50, 0x4E, 0x47], "image/png"),
        (Array("GIF8".utf8), "image/gif"), (Array("RIFF".utf8), "image/webp"),
    ]
}
