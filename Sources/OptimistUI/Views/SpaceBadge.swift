// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Foundation
    import GRDB
    public import Optimist
    public import SwiftUI

    /// A small symbol for this person's access to a space: the role, a clock while the server has not admitted the
    /// person, or a door after the person has left. The view is empty if the person does not use the space.
    ///
    /// Assistive technologies read the access aloud.
    public struct SpaceBadge: View {
        @LiveQuery<[Space]> private var spaces: [Space]

        /// Shows the access to a space of the environment's store.
        public init(space: Space.ID) { _spaces = LiveQuery(Space.filter(Column("id") == space)) }

        public var body: some View {
            if let state = spaces.first.map({ SpaceState($0) }) {
                Image(systemName: state.symbol).accessibilityLabel(state.label)
            }
        }
    }
#endif
