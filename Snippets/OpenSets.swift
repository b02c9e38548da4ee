// This source file is part of the Optimist open source project, under the MIT licence.
//
// The recipe for enums that newer apps extend, in Documentation/Recipes.md.

import Foundation
import GRDB
import Optimist

/// The urgency of a chore. A newer app may add words, which this app shows and writes back unchanged.
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
    default: urgency.rawValue  // A word that a newer app added.
    }
}

/// Shows a query on a screen, including its failures.
func show(
    _ chores: QueryStates<[Chore]>, on screen: @MainActor ([Chore], _ problem: (any Error)?) -> Void
) async {
    for await state in chores { await screen(state.value ?? [], state.failure) }
}
