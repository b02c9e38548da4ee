// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistUI
import SwiftUI

struct ExpenseList: View {
    @LiveQuery(Expense.order(Column("day").desc)) private var expenses: [Expense]
    @Environment(\.store) private var store
    @Environment(Settings.self) private var settings
    @State private var search = ""
    @State private var isAdding = false
    @State private var problem: String?
    @State private var path: [Expense] = []

    var body: some View {
        NavigationStack(path: $path) {
            List {
                Section("Expenses") {
                    ForEach(shown) { expense in
                        NavigationLink(value: expense) { ExpenseRow(expense: expense, currency: settings.currency) }
                            .swipeActions {
                                Button("Delete", systemImage: "trash", role: .destructive) { delete(expense) }
                            }
                    }
                    .onDelete { offsets in offsets.map { shown[$0] }.forEach(delete) }
                }
                if let problem { Text(problem).font(.footnote).foregroundStyle(.red) }
            }
            .searchable(text: $search, prompt: "Search")
            .navigationTitle("Expenses")
            .navigationDestination(for: Expense.self) { ExpenseForm(expense: $0) }
            .toolbar {
                ToolbarItem(placement: .primaryAction) {
                    Button("Add", systemImage: "plus") { isAdding = true }
                }
                ToolbarItem(placement: .bottomBar) { Text("\(shown.count) expenses").font(.caption) }
            }
            .sheet(isPresented: $isAdding) { ExpenseForm(expense: Expense(title: "", cents: 0)) }
            .overlay { if shown.isEmpty { ContentUnavailableView("No expenses", systemImage: "tray") } }
        }
    }

    private var shown: [Expense] {
        expenses.filter { (settings.showsPaid || !$0.isPaid) && (search.isEmpty || $0.title.contains(search)) }
    }

    private func delete(_ expense: Expense) {
        Task {
            do {
                _ = try await store.write { try expense.delete($0) }
            } catch {
                problem = "\(error)"
            }
        }
    }
}

struct ExpenseRow: View {
    let expense: Expense
    let currency: String

    var body: some View {
        HStack(alignment: .firstTextBaseline) {
            VStack(alignment: .leading, spacing: 4) {
                Text(expense.title).font(.headline).strikethrough(expense.isPaid).lineLimit(1)
                Text(expense.day, style: .date).font(.caption).foregroundStyle(.secondary)
            }
            Spacer()
            Text(Double(expense.cents) / 100, format: .currency(code: currency)).monospacedDigit()
        }
        .padding(.vertical, 4)
        .syncBadge(of: expense)
    }
}
