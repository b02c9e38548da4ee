// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Foundation
    public import Optimist
    public import SwiftUI

    /// The members of a space with their roles, and a button to leave. Owners can change roles and remove members.
    /// English; an app in other languages builds its own view from ``MemberList``.
    public struct MembersView: View {
        private let space: Space.ID
        private var act = StoreActing()
        @LiveQuery<[SpaceMember]> private var members: [SpaceMember]
        @State private var ending: AccessEnding?

        /// Shows the members of a space in the environment's store.
        public init(space: Space.ID) {
            self.space = space
            _members = LiveQuery(SpaceMember.of(space))
        }

        public var body: some View {
            let list = MemberList(members)
            List {
                ForEach(members) { member in
                    MemberView(member: member, list: list) { role in
                        act { try await $0.setRole(of: member.id, to: role) }
                    } remove: {
                        ending = .removal(of: member)
                    }
                }
                if let departure = list.departure {
                    Button(departure.label, role: .destructive) { ending = .departure(departure) }
                }
                if let failure = act.failure ?? $members.failure?.localizedDescription {
                    Text(failure).font(.footnote)
                }
            }
            .confirmationDialog(
                ending?.title ?? "", isPresented: isAsking, titleVisibility: .visible, presenting: ending
            ) { ending in
                Button(ending.button, role: .destructive) {
                    let space = space
                    act { try await ending.carryOut(in: space, of: $0) }
                }
            } message: { ending in
                Text(ending.message)
            }
        }

        private var isAsking: Binding<Bool> {
            Binding(get: { @MainActor in ending != nil }, set: { @MainActor in if !$0 { ending = nil } })
        }
    }

    /// One member, with the controls that this person may use.
    private struct MemberView: View {
        let member: SpaceMember
        let list: MemberList
        let setRole: @MainActor (SpaceRole) -> Void
        let remove: @MainActor () -> Void

        var body: some View {
            VStack(alignment: .leading) {
                let roles = list.roles(for: member)
                if roles.isEmpty {
                    LabeledContent(member.title, value: member.role?.label ?? SpaceState.pending.label)
                } else {
                    Picker(member.title, selection: role) {
                        ForEach(roles, id: \.self) { Text($0.label).tag($0) }
                    }
                }
                if let since = member.since {
                    Text("Since \(since.formatted(date: .abbreviated, time: .omitted))").font(.caption)
                }
                if list.mayRemove(member) {
                    Button("Remove", role: .destructive, action: remove).buttonStyle(.borderless)
                }
            }
        }

        private var role: Binding<SpaceRole> {
            Binding(get: { @MainActor in member.role ?? .reader }, set: { @MainActor in setRole($0) })
        }
    }
#endif
