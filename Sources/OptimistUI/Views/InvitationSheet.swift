// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI) && !os(tvOS)
    public import Foundation
    import GRDB
    public import Optimist
    public import SwiftUI

    /// A form to invite people to a space, and the space's invitations, each with its link to share and a button to
    /// revoke it. Only owners can invite. English; an app in other languages builds its own view from
    /// ``InvitationState``.
    ///
    /// ```swift
    /// .sheet(isPresented: $isInviting) { InvitationSheet(space: list.space, host: site) }
    /// ```
    public struct InvitationSheet: View {
        private let space: Space.ID
        private let host: URL
        private var act = StoreActing()
        @LiveQuery<[SpaceMember]> private var members: [SpaceMember]
        @LiveQuery<[SpaceInvitation]> private var invitations: [SpaceInvitation]
        @State private var draft = InvitationDraft()
        @Environment(\.dismiss) private var dismiss

        /// Shows the invitations of a space in the environment's store.
        ///
        /// - Parameter host: Where your app's universal links lead, such as `https://example.org`.
        public init(space: Space.ID, host: URL) {
            self.space = space
            self.host = host
            _members = LiveQuery(SpaceMember.of(space))
            _invitations = LiveQuery(SpaceInvitation.of(space))
        }

        public var body: some View {
            let isOwner = MemberList(members).isOwner
            NavigationStack {
                Form {
                    if isOwner {
                        Section("New invitation") { fields }
                    } else if $members.isLoaded {
                        Text("Only owners of the space can invite people.")
                    }
                    Section("Invitations") {
                        ForEach(invitations) { InvitationView($0, host: host, revoke: isOwner ? revoke : nil) }
                    }
                    if let failure = act.failure { Text(failure).font(.footnote) }
                }
                .navigationTitle("Invite people")
                .toolbar { Button("Done") { dismiss() } }
            }
        }

        @ViewBuilder private var fields: some View {
            TextField("Name that people see", text: $draft.label)
            Picker("They", selection: $draft.role) {
                ForEach(InvitationDraft.roles, id: \.self) { Text($0.label).tag($0) }
            }
            Stepper("People: \(draft.uses)", value: $draft.uses, in: InvitationDraft.uses)
            Stepper("Days: \(draft.days)", value: $draft.days, in: InvitationDraft.days)
            Button("Create link") { invite() }.disabled(!draft.isComplete)
        }

        private func invite() {
            let (space, draft) = (space, draft)
            act {
                try await draft.invite(to: space, of: $0)
            } then: {
                self.draft = InvitationDraft()
            }
        }

        private func revoke(_ invitation: SpaceInvitation.ID) { act { try await $0.revoke(invitation) } }
    }

    /// One invitation, with its link if this device made it.
    private struct InvitationView: View {
        private let invitation: SpaceInvitation
        private let host: URL
        /// Nil if this person may not revoke it.
        private let revoke: (@MainActor (SpaceInvitation.ID) -> Void)?

        init(_ invitation: SpaceInvitation, host: URL, revoke: (@MainActor (SpaceInvitation.ID) -> Void)?) {
            self.invitation = invitation
            self.host = host
            self.revoke = revoke
        }

        var body: some View {
            let state = InvitationState(invitation, at: Date())
            VStack(alignment: .leading) {
                LabeledContent(invitation.label ?? "", value: state.label)
                Text(invitation.summary).font(.footnote)
                if let end = invitation.endsAt { Text(end, style: .date).font(.footnote) }
                HStack {
                    if state.isWorthSharing, let link = invitation.link { ShareLink(item: link.url(at: host)) }
                    if let revoke { Button("Revoke", role: .destructive) { revoke(invitation.id) } }
                }
                .buttonStyle(.borderless)
            }
        }
    }
#endif
