// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import SwiftUI

    extension EnvironmentValues {
        /// The app's store. Its calls throw `OptimistError` with code `noStore` if the scene does not have the modifier
        /// `.optimist(client)`.
        public var store: StoreAccess {
            get { self[StoreKey.self] }
            set { self[StoreKey.self] = newValue }
        }

        /// The state of sync, read by `@Sync`.
        public var syncStatus: SyncStatusModel? {
            get { self[SyncStatusKey.self] }
            set { self[SyncStatusKey.self] = newValue }
        }

        /// Whether live queries run. Default: true. Set by `View.liveWhileVisible()`.
        public var runsLiveQueries: Bool {
            get { self[RunsLiveQueriesKey.self] }
            set { self[RunsLiveQueriesKey.self] = newValue }
        }
    }

    private struct StoreKey: EnvironmentKey {
        static let defaultValue = StoreAccess.missing
    }

    private struct SyncStatusKey: EnvironmentKey {
        static let defaultValue: SyncStatusModel? = nil
    }

    private struct RunsLiveQueriesKey: EnvironmentKey {
        static let defaultValue = true
    }
#endif
