// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import Synchronization

/// A device's screen: the latest result of one live query.
final class SharingScreen: Sendable {
    private let state = Mutex(SharingSnapshot())

    var snapshot: SharingSnapshot { state.withLock(\.self) }

    func follow(_ store: Store, _ news: NewsDesk) async {
        for await state in store.observe({ try SharingSnapshot($0) }) {
            // The store logs a failure, and the screen keeps the last result.
            guard let snapshot = try? state.get() else { continue }
            self.state.withLock { $0 = snapshot }
            news.changed(.todos)
        }
    }
}
