import GRDB
import Optimist
import OptimistUI
import SwiftUI

struct TodoList: View {
    @LiveQuery(Todo.order(Column("title"))) private var todos: [Todo]

    var body: some View {
        List {
            ForEach(todos, id: \.id) { Text($0.title) }
        }
        .navigationTitle("To-dos")
    }
}
