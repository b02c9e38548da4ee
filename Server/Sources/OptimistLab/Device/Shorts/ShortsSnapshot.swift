// This source file is part of the Optimist open source project, under the MIT licence.

/// The screen of short videos.
struct ShortsSnapshot: Encodable, Sendable {
    struct Part: Encodable, Sendable, Equatable {
        enum State: String, Encodable, Sendable {
            case absent, prefetching, loading, here, failed
            /// Cancelled because the screen moved away.
            case cancelled
        }

        /// How the screen got the value.
        enum Way: String, Encodable, Sendable {
            /// It was in memory.
            case memory
            /// From the running prefetch.
            case joined
            /// From a new request.
            case asked
        }

        var state = State.absent
        var way: Way?
        /// A picture's path on the lab, or a name.
        var text: String?
        var target: String?
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
    /// The index of the video on screen, if any.
    var index: Int?
    /// The credit for the place names, which must be shown.
    var credit: String?
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
    /// Returns a copy with the numbers of requests.
    func counted(on wire: Wire) -> Self {
        var counted = self
        for index in items.indices {
            counted.items[index].portrait.requests = items[index].portrait.target.map(wire.sent) ?? 0
            counted.items[index].place.requests = items[index].place.target.map(wire.sent) ?? 0
        }
        return counted
    }
}
