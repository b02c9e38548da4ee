// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import SwiftUI

    /// How far a view's value is.
    public enum LoadPhase<Value: Sendable>: Sendable {
        case waiting(progress: Double?)
        case loaded(Value)
        case failed(any Error)
    }

    /// A view of a value that a loader gets: what is in memory shows at once, the rest when it comes.
    ///
    /// ```swift
    /// LoadedView(item.url, from: pictures) { phase in
    ///     if case .loaded(let picture) = phase { Image(picture) } else { Color.gray }
    /// }
    /// ```
    ///
    /// The value is wanted for as long as the view is on the screen.
    public struct LoadedView<Key: Hashable & Sendable, Value: Sendable, Content: View>: View {
        private let key: Key
        private let loader: Loader<Key, Value>
        private let freshness: Freshness
        private let content: (LoadPhase<Value>) -> Content
        /// The latest phase, and its key: another key's phase is not shown.
        @State private var latest: (key: Key, phase: LoadPhase<Value>)?

        public init(
            _ key: Key, from loader: Loader<Key, Value>, freshness: Freshness = .cached,
            @ViewBuilder content: @escaping (LoadPhase<Value>) -> Content
        ) {
            self.key = key
            self.loader = loader
            self.freshness = freshness
            self.content = content
        }

        public var body: some View {
            content(phase).task(id: key) {
                for await event in loader.events(for: key, freshness: freshness) {
                    switch event {
                    // A value that is shown is better than the news that its refresh goes on, or has failed.
                    case .progress(let progress): if !isLoaded { latest = (key, .waiting(progress: progress)) }
                    case .partial(let value), .value(let value, _): latest = (key, .loaded(value))
                    case .failure(let error): if !isLoaded { latest = (key, .failed(error)) }
                    }
                }
            }
        }

        private var isLoaded: Bool { if case .loaded = phase { true } else { false } }

        private var phase: LoadPhase<Value> {
            if let latest, latest.key == key { return latest.phase }
            return loader.cached(key).map { .loaded($0) } ?? .waiting(progress: nil)
        }
    }
#endif
