// This source file is part of the Optimist open source project, under the MIT licence.
//
// The code of the article on sharing, in Sources/Optimist/Optimist.docc.

import Foundation
import GRDB
import Optimist
import OptimistUI

#if canImport(SwiftUI)
    import SwiftUI
#endif

struct TodoList: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(space: .own("space"))  // A root: its column names the space.
    var id = UUID()
    var title: String
    var space: UUID?  // Nil: only in the user's own account.
}

struct Todo: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(space: .of("listID"))  // A child: it is where its list is.
    var id = UUID()
    var listID: UUID
    var title: String
}

func share(_ friend: SpaceMember.ID, in store: Store) async throws -> InvitationLink? {
    let home = try await store.createSpace(named: "Home", as: "Ann")
    try await store.write { db in
        let list = TodoList(title: "Groceries", space: home.id)
        try list.insert(db)
        try Todo(listID: list.id, title: "Milk").insert(db)
    }
    let invitation = try await store.invite(to: home.id, as: .writer, label: "Groceries")
    try await store.setRole(of: friend, to: .reader)
    return invitation.link
}

func join(_ url: URL, in store: Store, by engine: SyncEngine) async throws {
    guard let link = InvitationLink(url) else { return }
    // Offline, the label is nil, and the app can name the space later.
    let label = try await engine.preview(of: link).label
    let (space, receipt) = try await store.accept(link, as: "Bob", named: label)
    // Optional. The rows of the space wait until the server has admitted the person.
    let refusals = try await store.rejections(awaiting: receipt)
    // snippet.hide
    _ = (space, refusals)
    // snippet.show
}

func preview(_ link: InvitationLink, by engine: SyncEngine) async throws {
    switch try await engine.preview(of: link) {
    case .open(let invitation): print(invitation.inviter ?? "?", invitation.label, invitation.role, invitation.daysLeft)
    case .notValid: print("The link does not work, or the owner's device has not synced yet.")
    case .unknown: print("There is no connection. The person can join, and the server decides later.")
    }
}

func followEnds(in store: Store) async {
    for await end in store.spaceEnds() {
        print("\(end.name ?? "A space") has ended (\(end.reason)). \(end.unsent) changes were not sent.")
    }
}

func move(_ list: TodoList, to space: Space.ID?, in store: Store) async throws {
    try await store.write { db in try list.move(to: space, in: db) }
}

#if canImport(SwiftUI)
    struct SharedLists: View {
        let account: String?  // Such as session.account?.email.
        let site: URL  // Where the app's universal links lead.
        @LiveQuery(TodoList.order(Column("title"))) private var lists: [TodoList]
        @LiveQuery(Space.all()) private var spaces: [Space]
        @Environment(\.store) private var store
        @State private var inviting: Space?

        var body: some View {
            List(lists) { list in
                HStack {
                    Text(list.title)
                    if let space = list.space {
                        SpaceBadge(space: space)
                        NavigationLink("Members") { MembersView(space: space) }
                    }
                    Button("Share") { Task { try? await share(list) } }.buttonStyle(.borderless)
                }
            }
            .sheet(item: $inviting) { InvitationSheet(space: $0.id, host: site) }
            .onInvitation(as: account)
        }

        private func share(_ list: TodoList) async throws {
            inviting = spaces.first { $0.id == list.space }
            guard inviting == nil else { return }
            let space = try await store.store.createSpace(named: list.title, as: account ?? "Me")
            try await store.store.write { db in try list.move(to: space.id, in: db) }
            inviting = space
        }
    }
#endif
