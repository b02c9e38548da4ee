// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import SwiftUI

    extension Scene {
        /// Syncs while a scene is active, and gives the views `@LiveQuery`, `@Sync` and `@Environment(\.store)`.
        ///
        /// In the background sync stops. On return it begins again at once. ``BackgroundSync`` syncs now and then meanwhile.
        ///
        /// - Parameter client: What the app has opened. One client for each app.
        public func optimist(_ client: OptimistClient) -> some Scene { OptimistScene(content: self, client: client) }
    }

    extension View {
        /// Gives the views within this one `@LiveQuery`, `@Sync` and `@Environment(\.store)`, for a preview. The engine
        /// does not run: in an app, use the scene's modifier of the same name.
        ///
        /// - Parameter client: A client, for example `.preview(…)`.
        public func optimist(_ client: OptimistClient) -> some View {
            environment(\.store, client.store)
                .environment(\.syncStatus, client.sync)
                .task { await client.sync.follow() }
        }
    }

    private struct OptimistScene<Content: Scene>: Scene {
        let content: Content
        let client: OptimistClient
        @Environment(\.scenePhase) private var scenePhase

        var body: some Scene {
            content
                .environment(\.store, client.store)
                .environment(\.syncStatus, client.sync)
                .onChange(of: scenePhase, initial: true) { client.sceneChanged(to: SceneLife.Phase(scenePhase)) }
        }
    }

    extension SceneLife.Phase {
        /// A phase that this version does not know does not stop sync.
        init(_ phase: ScenePhase) {
            self =
                switch phase {
                case .active: .active
                case .background: .background
                default: .inactive
                }
        }
    }
#endif
