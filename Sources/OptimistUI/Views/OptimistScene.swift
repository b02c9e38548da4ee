// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import SwiftUI

    extension Scene {
        /// Syncs while the scene is active, and enables `@LiveQuery`, `@Sync` and `@Environment(\.store)` in its views.
        ///
        /// Sync stops in the background and resumes when the scene becomes active. ``BackgroundSync`` can sync in the
        /// meantime.
        ///
        /// - Parameter client: The app's client. Use one client for the app.
        public func optimist(_ client: OptimistClient) -> some Scene { OptimistScene(content: self, client: client) }
    }

    extension View {
        /// Enables `@LiveQuery`, `@Sync` and `@Environment(\.store)` in this view, for a preview.
        ///
        /// The engine does not run: in an app, use the scene's modifier of the same name.
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
        /// A phase unknown to this version does not stop sync.
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
