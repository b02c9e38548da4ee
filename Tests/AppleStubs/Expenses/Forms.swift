// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistUI
import SwiftUI

struct ExpenseForm: View {
    @State var expense: Expense
    @State private var asks = false
    @State private var isShowingProblem = false
    @FocusState private var isEditing: Bool
    @Environment(\.dismiss) private var dismiss
    @Environment(\.store) private var store

    var body: some View {
        Form {
            Section {
                TextField("Title", text: $expense.title).focused($isEditing).onSubmit { save() }
                TextField("Cents", value: $expense.cents, format: .number)
                DatePicker("Day", selection: $expense.day, displayedComponents: .date)
                Picker("Category", selection: $expense.category) {
                    ForEach(Category.allCases) { Text($0.rawValue).tag($0) }
                }
                Toggle("Paid", isOn: $expense.isPaid)
            } header: {
                Text("Expense")
            } footer: {
                Text("Saved on this device at once.")
            }
            Button("Save") { save() }.buttonStyle(.borderedProminent).disabled(expense.title.isEmpty)
        }
        .onAppear { isEditing = true }
        .onChange(of: expense.category) { _, new in if new == .rent { asks = true } }
        .confirmationDialog("A rent?", isPresented: $asks, titleVisibility: .visible) {
            Button("Keep", role: .cancel) {}
        }
        .alert("Not saved", isPresented: $isShowingProblem) {
            Button("OK") {}
        } message: {
            Text("Try it again.")
        }
    }

    private func save() {
        let expense = expense
        Task {
            do {
                try await store.write { try expense.save($0) }
                dismiss()
            } catch {
                isShowingProblem = true
            }
        }
    }
}

struct SettingsForm: View {
    @Environment(Settings.self) private var settings
    @AppStorage("limit") private var limit = 100

    var body: some View {
        @Bindable var settings = settings
        Form {
            TextField("Currency", text: $settings.currency)
            Toggle("Show what is paid", isOn: $settings.showsPaid)
            Stepper("Limit", value: $limit, in: 0...1000)
            LabeledContent("Limit", value: limit, format: .number)
        }
    }
}
