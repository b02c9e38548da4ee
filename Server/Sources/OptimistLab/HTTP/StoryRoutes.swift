// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore

/// Plays the five stories and returns their figures.
struct StoryRoutes {
    let desk: StoryDesk

    func add(to router: Router<some RequestContext>) {
        router.post("lab/stories") { _, _ in
            try desk.play()
            return StoriesAnswer(desk)
        }
        router.get("lab/stories") { _, _ in StoriesAnswer(desk) }
        router.get("lab/stories.svg") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "image/svg+xml", .cacheControl: "no-store"],
                body: .init(byteBuffer: ByteBuffer(string: StoryPlot(desk.figures).svg)))
        }
    }
}

private struct StoriesAnswer: ResponseEncodable {
    struct Figure: Encodable {
        var story: Int
        var title: String
        var network: String
        var oldWay: String
        var optimist: String
    }

    var figures: [Figure]
    var isPlaying: Bool
    /// Whether all stories have been played.
    var isWhole: Bool
    var problem: String?

    init(_ desk: StoryDesk) {
        figures = desk.figures.map { figure in
            Figure(
                story: figure.measure.story, title: figure.measure.title, network: figure.network.title,
                oldWay: figure.text(figure.oldWay), optimist: figure.text(figure.optimist))
        }
        isPlaying = desk.isPlaying
        problem = desk.problem
        isWhole = !isPlaying && problem == nil && !figures.isEmpty
    }
}
