// This source file is part of the Optimist open source project, under the MIT licence.

/// What the screen of short videos shows.
struct ShortsSnapshot: Encodable, Sendable {
    /// One thing that a short needs beside its video.
    struct Part: Encodable, Sendable, Equatable {
        enum State: String, Encodable, Sendable {
            case absent, prefetching, loading, here, failed
            /// A prefetch that was given up, since the screen went elsewhere.
            case cancelled
        }

        /// How the screen came to it when it was needed.
        enum Way: String, Encodable, Sendable {
            /// It was here already.
            case memory
            /// By the prefetch that was under way.
            case joined
            /// By a request of its own.
            case asked
        }

        var state = State.absent
        var way: Way?
        /// A path on the lab for a picture, or a name.
        var text: String?
        /// Where the server has it.
        var target: String?
        /// How many requests were sent for it.
        var requests = 0
    }

    struct Item: Encodable, Sendable {
        var id: String
        var title: String
        var hue: Int
        var author: String
        var portrait = Part()
        var place = Part()
    }

    var items: [Item] = []
    /// Which one is on the screen. Nil: none yet.
    var index: Int?
    /// Where the names of places are from, which has to be shown with them.
    var credit: String?
    /// Why there is no list.
    var problem: String?
}

extension ShortsSnapshot.Item {
    init(_ short: Short) {
        self.init(id: short.id, title: short.title, hue: short.hue, author: short.author.name)
        portrait.target = short.portraitPath
        place.target = short.placePath
    }
}

extension ShortsSnapshot {
    /// The same, with how many requests were sent for each thing.
    func counted(on wire: Wire) -> Self {
        var counted = self
        for index in items.indices {
            counted.items[index].portrait.requests = items[index].portrait.target.map(wire.sent) ?? 0
            counted.items[index].place.requests = items[index].place.target.map(wire.sent) ?? 0
        }
        return counted
    }
}
