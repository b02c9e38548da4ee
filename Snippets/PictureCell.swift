// This source file is part of the Optimist open source project, under the MIT licence.
//
// A cell that shows a cached picture immediately, and other pictures when they arrive.

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
            // The cell may show another picture by the time this runs.
            Task { @MainActor in if self?.url == url { self?.picture = picture } }
        }
    }
}

/// Prefetches the pictures near the screen.
struct PictureWindow {
    let window: PrefetchWindow<URL, Data>

    init(_ pictures: Loader<URL, Data>) { window = PrefetchWindow(pictures) }

    func scrolled(to visible: Range<Int>, of urls: [URL]) {
        window.setVisible(Array(urls[visible.upperBound...].prefix(12)))
    }
}

/// Reports the counts of a loader to the app's metrics.
func report(_ counts: LoaderCounts, to gauge: (_ name: String, _ value: Int) -> Void) {
    gauge("pictures.memory_hits", counts.memoryHits)
    gauge("pictures.fetches", counts.fetches)
    gauge("pictures.failures", counts.failures)
    gauge("pictures.prefetched_unseen_bytes", counts.unseenBytes)
}
