// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Records in the timeline when a page's items, its first picture and all its pictures are shown.
final class PageWatch: Sendable {
    private struct Page {
        let row: String
        let poses: [Pose]
        /// The number of redraws before the page arrived. Nil until the first redraw afterwards.
        var drawnBefore: Int?
        var missing: Set<Pose.ID>
    }

    private let state = Mutex((pages: [Page](), last: 0))
    private let news: NewsDesk
    private let wire: Wire

    init(news: NewsDesk, wire: Wire) { (self.news, self.wire) = (news, wire) }

    /// Returns the timeline row of the page.
    func asks(_ section: PoseSection, isFirst: Bool) -> String {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let row = "\(news.device)/page/\(number)"
        news.tell(.page, "\(isFirst ? "First" : "Next") page of \(section.rawValue)", row: row)
        return row
    }

    func arrived(_ poses: [Pose], _ row: String) {
        news.tell(.places, "\(poses.count)", row: row)
        guard !poses.isEmpty else { return }
        state.withLock { state in
            state.pages.append(Page(row: row, poses: poses, missing: Set(poses.map(\.id))))
            if state.pages.count > 32 { state.pages.removeFirst() }
        }
    }

    func failed(_ row: String) { news.tell(.failed, "page", row: row) }

    /// - Parameter drawn: The current number of redraws.
    func shows(_ ids: some Collection<Pose.ID>, drawn: Int) {
        let events = state.withLock { state in
            var events: [(TimelineEvent.Kind, String, String)] = []
            for place in state.pages.indices {
                let before = state.pages[place].missing
                let drawnBefore = state.pages[place].drawnBefore ?? drawn - 1
                state.pages[place].drawnBefore = drawnBefore
                state.pages[place].missing.subtract(ids)
                let (page, left) = (state.pages[place], state.pages[place].missing.count)
                if left == before.count { continue }
                if before.count == page.poses.count { events.append((.firstPicture, "1", page.row)) }
                if left > 0 { continue }
                let requests = page.poses.reduce(0) { $0 + wire.sent($1.picturePath) }
                let text = "\(page.poses.count) pictures by \(requests) requests, drawn \(drawn - drawnBefore) times"
                events.append((.allPictures, text, page.row))
            }
            state.pages.removeAll { $0.missing.isEmpty }
            return events
        }
        for (kind, text, row) in events { news.tell(kind, text, row: row) }
    }
}
