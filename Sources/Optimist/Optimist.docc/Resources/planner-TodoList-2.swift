import GRDB
import Optimist
import OptimistUI
import SwiftUI

struct TodoList: View {
    @LiveQuery(Todo.order(Column("title"))) private var todos: [Todo]
    @Environment(\.store) private var store
    @State private var title = ""
    @State private var message: String?

    var body: some View {
        List {
            HStack {
                TextField("New to-do", text: $title)
                Button("Add") { add() }.disabled(title.isEmpty)
            }
            ForEach(todos, id: \.id) { Text($0.title) }
            Text(message ?? "").font(.footnote)
        }
        .navigationTitle("To-dos")
    }

    private func add() {
        let todo = Todo(title: title)
        title = ""
        Task {
            do {
                try await store.write { try todo.insert($0) }
                message = nil
            } catch {
                message = "\(error)"
            }
        }
    }
}
