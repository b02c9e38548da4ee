// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    import Foundation
    public import Optimist
    import OptimistWire
    public import SwiftUI

    /// What the server refused, with what the user wrote, what the server has, and what can be done: try again or discard.
    /// English; an app in other languages makes a view of its own from ``RejectionsModel``.
    public struct RejectionsView: View {
        @Sync private var sync

        /// Shows the rejections of the environment's store.
        public init() {}

        public var body: some View {
            if let model = sync.rejections, !model.rejections.isEmpty {
                List(model.rejections) { RejectionView($0) }
            } else if let failure = sync.rejections?.failure {
                ContentUnavailableView(
                    "The refused changes cannot be read", systemImage: "exclamationmark.triangle",
                    description: Text(failure.localizedDescription))
            } else {
                ContentUnavailableView(
                    "Nothing was refused", systemImage: "checkmark.circle",
                    description: Text("The server has taken everything that it was sent."))
            }
        }
    }

    /// One rejection: what the user wrote, what the server has, and two buttons.
    public struct RejectionView: View {
        private let rejection: Rejection
        @Sync private var sync

        /// Shows a rejection.
        ///
        /// - Parameter rejection: A rejection of the environment's store.
        public init(_ rejection: Rejection) { self.rejection = rejection }

        public var body: some View {
            VStack(alignment: .leading) {
                Text(rejection.message).font(.headline)
                ValuesView(title: "Mine", values: rejection.mine)
                if let server = rejection.theirs { ValuesView(title: "On the server", values: server) }
                HStack {
                    Button("Try again") { Task { await sync.rejections?.retry(rejection) } }
                    Button("Discard", role: .destructive) { Task { await sync.rejections?.discard(rejection) } }
                }
                .buttonStyle(.borderless)
                if let failure = sync.rejections?.failure { Text(failure.localizedDescription).font(.footnote) }
            }
        }
    }

    /// The columns and values of a row.
    struct ValuesView: View {
        let title: String
        let values: JSONObject

        var body: some View {
            Text(title).font(.subheadline)
            ForEach(values.shown, id: \.name) { value in LabeledContent(value.name, value: value.text) }
        }
    }
#endif
