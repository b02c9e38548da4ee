// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import SwiftUI

    /// The loading state of a view's value.
    public enum LoadPhase<Value: Sendable>: Sendable {
        case waiting(progress: Double?)
        case loaded(Value)
        case failed(any Error)
    }

    /// A view of a loaded value. It shows a cached value immediately, and other values when they arrive.
    ///
    /// ```swift
    /// LoadedView(item.url, from: pictures) { phase in
    ///     if case .loaded(let picture) = phase { Image(picture) } else { Color.gray }
    /// }
    /// ```
    ///
    /// The view subscribes to the value while the view is on screen.
    public struct LoadedView<Key: Hashable & Sendable, Value: Sendable, Content: View>: View {
        private let key: Key
        private let loader: Loader<Key, Value>
        private let freshness: Freshness
        private let content: (LoadPhase<Value>) -> Content
        /// The latest phase with its key. The phase of another key is not shown.
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
                    // Keep showing a value while its refresh is in progress or after it has failed.
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
