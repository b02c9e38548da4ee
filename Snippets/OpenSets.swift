// This source file is part of the Optimist open source project, under the MIT licence.
//
// The recipe for enums that newer apps extend, in Documentation/Recipes.md.

import Foundation
import GRDB
import Optimist

/// How urgent a chore is. A newer app may know more words: each is kept, shown as it is, and written back unchanged.
struct Urgency: RawRepresentable, Codable, Hashable, Sendable, DatabaseValueConvertible {
    var rawValue: String

    static let low = Urgency(rawValue: "low")
    static let high = Urgency(rawValue: "high")
}

struct Chore: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var title: String
    var urgency: Urgency
}

func label(_ urgency: Urgency) -> String {
    switch urgency {
    case .low: "Can wait"
    case .high: "Urgent"
    default: urgency.rawValue  // A word of a newer app.
    }
}

/// What a screen does with a query that fails all the same.
func show(
    _ chores: QueryStates<[Chore]>, on screen: @MainActor ([Chore], _ problem: (any Error)?) -> Void
) async {
    for await state in chores { await screen(state.value ?? [], state.failure) }
}
