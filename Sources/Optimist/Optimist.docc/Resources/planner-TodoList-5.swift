import GRDB
import Optimist
import OptimistUI
import SwiftUI

struct TodoList: View {
    @LiveQuery(Todo.order(Column("title"))) private var todos: [Todo]
    @Sync private var sync
    @Environment(\.store) private var store
    @State private var title = ""
    @State private var message: String?

    var body: some View {
        List {
            HStack {
                TextField("New to-do", text: $title)
                Button("Add") { add() }.disabled(title.isEmpty)
            }
            ForEach(todos, id: \.id) { TodoRow(todo: $0) }
            Text(message ?? sync.summary).font(.footnote)
            NavigationLink("Conflicts") { ConflictsView() }
        }
        .navigationTitle("To-dos")
        .refreshable { await sync.syncNow() }
        .sheet(item: sync.firstRejection(of: Todo.self)) { RejectionView($0) }
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

struct TodoRow: View {
    let todo: Todo
    @Environment(\.store) private var store

    var body: some View {
        Toggle(todo.title, isOn: Binding(get: { todo.done }, set: { check($0) })).syncBadge(of: todo)
    }

    /// The list shows the new state after the write. If the write fails, for example on a full disk, the old state remains.
    private func check(_ isDone: Bool) {
        var changed = todo
        changed.done = isDone
        Task { [changed] in try? await store.write { try changed.update($0, columns: ["done"]) } }
    }
}
