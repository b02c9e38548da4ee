// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistUI
import SwiftUI

/// Shares a list. The list moves into a space with all its to-dos, also offline.
struct ShareButton: View {
    let list: TodoList
    /// Where the app's universal links lead.
    private static let site = URL(string: "https://example.org")
    @LiveQuery(Space.all()) private var spaces: [Space]
    @Environment(\.store) private var store
    @State private var shared: Space?

    var body: some View {
        HStack {
            if let space = list.space { SpaceBadge(space: space) }
            Button("Share") { Task { try? await share() } }
        }
        .buttonStyle(.borderless)
        .sheet(item: $shared) { space in
            NavigationStack {
                VStack {
                    MembersView(space: space.id)
                    if let site = Self.site {
                        NavigationLink("Invite people") { InvitationSheet(space: space.id, host: site) }
                    }
                }
            }
        }
    }

    private func share() async throws {
        if let space = spaces.first(where: { $0.id == list.space }) {
            shared = space
            return
        }
        let space = try await store.store.createSpace(named: list.title, as: "Me")
        try await store.write { try list.move(to: space.id, in: $0) }
        shared = space
    }
}
