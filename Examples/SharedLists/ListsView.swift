// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistSession
import OptimistUI
import SwiftUI

/// The person's lists, with a button to share each.
struct ListsView: View {
    let client: OptimistClient
    @LiveQuery(TodoList.order(Column("title"))) private var lists: [TodoList]
    @Sync private var sync
    @Environment(\.store) private var store
    @State private var title = ""
    @State private var message: String?

    /// The name of the account that joins, after a link was opened.
    private var account: String? {
        if case .active(let account)? = client.components?.session?.state { account.email } else { nil }
    }

    var body: some View {
        NavigationStack {
            List {
                HStack {
                    TextField("New list", text: $title)
                    Button("Add") { add() }.disabled(title.isEmpty)
                }
                ForEach(lists) { list in
                    HStack {
                        NavigationLink(list.title) { TodosView(list: list) }
                        ShareButton(list: list)
                    }
                }
                Text(message ?? sync.summary).font(.footnote)
            }
            .navigationTitle("Lists")
            .refreshable { await sync.syncNow() }
        }
        .onInvitation(as: account)
        .onSpaceEnded { end in
            message = "“\(end.name ?? "A list")” is no longer shared with you. \(end.unsent) changes were not sent."
        }
    }

    private func add() {
        let list = TodoList(title: title)
        title = ""
        Task {
            do { try await store.write { try list.insert($0) } } catch { message = "\(error)" }
        }
    }
}
