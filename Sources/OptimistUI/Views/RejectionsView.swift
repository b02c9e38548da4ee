// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    import Foundation
    public import Optimist
    import OptimistWire
    public import SwiftUI

    /// A list of the user's writes that the server refused, each with the server's values and buttons to try again or
    /// discard. English; an app in other languages builds its own view from ``RejectionsModel``.
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
                    description: Text("The server has accepted every change that was sent."))
            }
        }
    }

    /// One rejection: the user's values, the server's values, and two buttons.
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

    struct ValuesView: View {
        let title: String
        let values: JSONObject

        var body: some View {
            Text(title).font(.subheadline)
            ForEach(values.shown, id: \.name) { value in LabeledContent(value.name, value: value.text) }
        }
    }
#endif
