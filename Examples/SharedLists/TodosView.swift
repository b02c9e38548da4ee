// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistUI
import SwiftUI

/// The to-dos of one list. The controls are disabled for people who may only read the list.
struct TodosView: View {
    private let list: TodoList
    @LiveQuery<[Todo]> private var todos: [Todo]
    @LiveQuery<[Space]> private var spaces: [Space]
    @Environment(\.store) private var store
    @State private var title = ""

    init(list: TodoList) {
        self.list = list
        _todos = LiveQuery(Todo.filter(Column("listID") == list.id).order(Column("title")))
        _spaces = LiveQuery(Space.filter(Column("id") == list.space))
    }

    private var mayWrite: Bool { list.space == nil || spaces.first?.mayWrite == true }

    var body: some View {
        List {
            HStack {
                TextField("New to-do", text: $title)
                Button("Add") { add() }.disabled(title.isEmpty)
            }
            .disabled(!mayWrite)
            ForEach(todos) { todo in
                Toggle(todo.title, isOn: Binding(get: { todo.done }, set: { check(todo, $0) }))
                    .syncBadge(of: todo)
                    .disabled(!mayWrite)
            }
        }
        .navigationTitle(list.title)
    }

    private func add() {
        let todo = Todo(listID: list.id, title: title)
        title = ""
        Task { try? await store.write { try todo.insert($0) } }
    }

    private func check(_ todo: Todo, _ isDone: Bool) {
        var changed = todo
        changed.done = isDone
        Task { [changed] in try? await store.write { try changed.update($0, columns: ["done"]) } }
    }
}
