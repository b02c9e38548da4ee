// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Optimist
    public import SwiftUI

    extension View {
        /// Calls a closure when a space ends on this device: see `Store.spaceEnds()`.
        ///
        /// - Parameter perform: Receives the end while the view is shown, for example to say why a list has disappeared.
        public func onSpaceEnded(_ perform: @escaping @MainActor (SpaceEnd) -> Void) -> some View {
            modifier(OnSpaceEnded(perform: perform))
        }
    }

    private struct OnSpaceEnded: ViewModifier {
        let perform: @MainActor (SpaceEnd) -> Void
        @Environment(\.store) private var store

        func body(content: Content) -> some View {
            content.task {
                guard let ends = store.ifOpen?.spaceEnds() else { return }
                for await end in ends { perform(end) }
            }
        }
    }
#endif
