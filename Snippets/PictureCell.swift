// This source file is part of the Optimist open source project, under the MIT licence.
//
// A cell that shows a picture: what is in memory at once, the rest when it comes.

import Foundation
import OptimistLoading

@MainActor
final class PictureCell {
    private(set) var picture: Data?
    private var url: URL?
    private var ticket: LoadSubscription?

    func show(_ url: URL, from pictures: Loader<URL, Data>) {
        self.url = url
        picture = pictures.cached(url)
        ticket = pictures.subscribe(url) { [weak self] event in
            guard case .value(let picture, _) = event else { return }
            // By the time of this hop the cell may show another.
            Task { @MainActor in if self?.url == url { self?.picture = picture } }
        }
    }
}

/// Pictures near the screen are fetched ahead.
struct PictureWindow {
    let window: PrefetchWindow<URL, Data>

    init(_ pictures: Loader<URL, Data>) { window = PrefetchWindow(pictures) }

    func scrolled(to visible: Range<Int>, of urls: [URL]) {
        window.setVisible(Array(urls[visible.upperBound...].prefix(12)))
    }
}

/// What a loader has done goes to the app's metrics as often as it likes: here, to anything that takes names and
/// numbers.
func report(_ counts: LoaderCounts, to gauge: (_ name: String, _ value: Int) -> Void) {
    gauge("pictures.memory_hits", counts.memoryHits)
    gauge("pictures.fetches", counts.fetches)
    gauge("pictures.failures", counts.failures)
    gauge("pictures.prefetched_unseen_bytes", counts.unseenBytes)
}
