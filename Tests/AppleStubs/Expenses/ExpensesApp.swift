// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Observation
import Optimist
import OptimistUI
import SwiftUI

// A sample app with the parts of SwiftUI that apps commonly use. It is type-checked, on Linux only.
@main
struct ExpensesApp: App {
    @State private var settings = Settings()

    var body: some Scene {
        WindowGroup {
            TabView {
                ExpenseList().tabItem { Label("Expenses", systemImage: "list.bullet") }
                SettingsForm().tabItem { Label("Settings", systemImage: "gear") }
            }
            .environment(settings)
        }
    }
}

@Observable
final class Settings {
    var currency = "EUR"
    var showsPaid = true
}

struct Expense: Codable, Identifiable, Hashable, SyncedRecord {
    var id = UUID()
    var title: String
    var cents: Int
    var category = Category.food
    var day = Date()
    var isPaid = false
}

enum Category: String, Codable, CaseIterable, Identifiable {
    case food, travel, rent
    var id: Self { self }
}
