// This source file is part of the Optimist open source project, under the MIT licence.
//
// A feed of photos in pages, with pictures for the photos near the screen.

import Foundation
import OptimistLoading

struct Photo: Identifiable, Codable, Equatable, Sendable {
    let id: UUID
    let url: URL
    /// The size of the photo, known before its picture is loaded.
    let width: Int
    let height: Int
}

enum Kind: String, Sendable { case chosen, recommended }

struct Poses: Hashable, Sendable {
    var people: Int?
    var tags: Set<String> = []
}

protocol PhotoServer: Sendable {
    func photos(_ kind: Kind, _ poses: Poses, after cursor: String?) async throws -> FeedPage<Photo>
}

struct PhotoWall {
    let feed: Feed<Kind, Poses, Photo, Data>

    init(server: some PhotoServer, pictures: Loader<URL, Data>) {
        feed = Feed(sections: [.chosen, .recommended], filter: Poses(people: 2), values: pictures, key: \.url) {
            try await server.photos($0.section, $0.filter, after: $0.cursor)
        }
    }

    func follow(on screen: (Feed<Kind, Poses, Photo, Data>.Snapshot) -> Void) async {
        feed.refresh()
        for await snapshot in feed.snapshots() { screen(snapshot) }
    }
}
