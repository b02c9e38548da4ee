// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import GRDB
    import Optimist
    public import SwiftUI

    /// A query's result. SwiftUI updates the view whenever a committed transaction changes the result.
    ///
    /// ```swift
    /// struct TodoList: View {
    ///     @LiveQuery(Todo.order(Column("title"))) var todos: [Todo]
    /// ```
    ///
    /// If the query depends on the view's input, create it in the view's initializer. It restarts when its SQL or its
    /// arguments change:
    ///
    /// ```swift
    ///     init(day: String) { _todos = LiveQuery(Todo.filter(Column("date") == day)) }
    /// ```
    ///
    /// The query pauses while the app is in the background. It also pauses while the view is off screen, if the view or
    /// one of its ancestors has the modifier `.liveWhileVisible()`.
    ///
    /// The projected value shows whether the first result has arrived, and the error if the query fails. While the
    /// query fails, the wrapped value keeps the last result:
    ///
    /// ```swift
    ///     if let failure = $todos.failure { Text(failure.localizedDescription) }
    ///     if !$todos.isLoaded { ProgressView() }
    /// ```
    @propertyWrapper
    public struct LiveQuery<Value: Equatable & Sendable>: DynamicProperty {
        @Environment(\.store) private var store
        @Environment(\.scenePhase) private var scenePhase
        @Environment(\.runsLiveQueries) private var isOnScreen
        @State private var model: LiveQueryModel<Value>
        private let request: LiveRequest<Value>

        /// The latest result.
        @MainActor public var wrappedValue: Value { model.value }

        /// The model of the query, for `isLoaded` and `failure`.
        public var projectedValue: LiveQueryModel<Value> { model }

        /// Fetches all records of a request. The value is empty until the first result arrives.
        ///
        /// - Parameter request: Evaluated on a reading thread, and compared by its SQL and arguments.
        @MainActor public init<Record: FetchableRecord & Equatable & Sendable>(
            _ request: @autoclosure @escaping @Sendable () -> QueryInterfaceRequest<Record>
        ) where Value == [Record] {
            _model = State(wrappedValue: LiveQueryModel([]))
            self.request = LiveRequest(request)
        }

        /// Fetches any value.
        ///
        /// ```swift
        /// init(day: String) {
        ///     _open = LiveQuery(wrappedValue: 0, for: day) { db, day in try Todo.filter(Column("date") == day).fetchCount(db) }
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - wrappedValue: The value until the first result arrives.
        ///   - parameter: The closure's input. The query restarts when it changes.
        ///   - fetch: Runs on a reading thread. It must depend only on the database and the parameter.
        @MainActor public init<Parameter: Hashable & Sendable>(
            wrappedValue: Value, for parameter: Parameter,
            _ fetch: @escaping @Sendable (Database, Parameter) throws -> Value
        ) {
            _model = State(wrappedValue: LiveQueryModel(wrappedValue))
            request = LiveRequest(for: parameter, fetch)
        }

        /// Called by SwiftUI before it evaluates the view's body.
        public mutating func update() {
            let (model, request, store) = (model, request, store)
            let isVisible = isOnScreen && scenePhase != .background
            // SwiftUI calls this on the main actor.
            MainActor.assumeIsolated { model.show(request, in: store, isVisible: isVisible) }
        }
    }

    extension View {
        /// Pauses the live queries of this view and its subviews while this view is off screen: for example an
        /// unselected tab, or a list under a pushed view. The last results stay.
        public func liveWhileVisible() -> some View { modifier(LiveWhileVisible()) }
    }

    private struct LiveWhileVisible: ViewModifier {
        @State private var isVisible = true
        @Environment(\.runsLiveQueries) private var isAroundVisible

        func body(content: Content) -> some View {
            content
                .environment(\.runsLiveQueries, isVisible && isAroundVisible)
                .onAppear { isVisible = true }
                .onDisappear { isVisible = false }
        }
    }
#endif
