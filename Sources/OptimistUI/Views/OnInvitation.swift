// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    import Foundation
    import GRDB
    public import Optimist
    public import SwiftUI

    extension View {
        /// Asks the user before joining a space, when the app is opened with the link of an invitation.
        ///
        /// The question shows the invitation's label, role and inviter, if the server can be reached. It names the
        /// account and asks for the name that members see. The person joins only after agreeing. If the user is signed
        /// out, the link waits in this device's keychain for a day, and the question is asked again after signing in.
        /// Other URLs are ignored. English; an app in other languages uses `onOpenURL`, `InvitationLink`,
        /// `SyncEngine.preview(of:)` and `Store.accept(_:as:named:)`.
        ///
        /// - Parameters:
        ///   - account: The name of the user's account, such as its e-mail address. Nil if the user is signed out.
        ///   - joined: Receives the space, for example to show it. The server may not have admitted the person yet.
        public func onInvitation(
            as account: String?, joined: @escaping @MainActor (Space) -> Void = { _ in }
        ) -> some View {
            modifier(OnInvitation(account: account, joined: joined))
        }
    }

    private struct OnInvitation: ViewModifier {
        let account: String?
        let joined: @MainActor (Space) -> Void
        @State private var opened: OpenedInvitation?
        /// A link that was opened while signed out and is not in the keychain, because the app may not use it.
        @State private var unkept: OpenedInvitation?

        func body(content: Content) -> some View {
            content
                .onOpenURL { url in
                    guard let invitation = OpenedInvitation(url) else { return }
                    opened = invitation
                    guard account == nil else { return }
                    do { try InvitationKeeper.keychain.keep(invitation, at: .now) } catch { unkept = invitation }
                }
                .task(id: account) {
                    let keeper = InvitationKeeper.keychain
                    guard account != nil, let invitation = keeper.take(at: .now) ?? unkept else { return }
                    (opened, unkept) = (invitation, nil)
                }
                .sheet(item: $opened) { JoinView($0, as: account, joined: joined) }
        }
    }

    private struct JoinView: View {
        private let invitation: OpenedInvitation
        private let account: String?
        private let joined: @MainActor (Space) -> Void
        private var act = StoreActing()
        @LiveQuery<[Space]> private var spaces: [Space]
        @State private var name = ""
        @State private var check: InvitationCheck?
        @Environment(\.syncStatus) private var sync
        @Environment(\.dismiss) private var dismiss

        init(_ invitation: OpenedInvitation, as account: String?, joined: @escaping @MainActor (Space) -> Void) {
            self.invitation = invitation
            self.account = account
            self.joined = joined
            let space = invitation.link.space
            _spaces = LiveQuery(Space.filter(Column("id") == space))
        }

        var body: some View {
            let question = JoinQuestion(account: account, space: spaces.first, check: check)
            Form {
                Text("Join a shared space?").font(.headline)
                if question.mayJoin || account == nil { Text(question.invitation) }
                Text(question.message)
                if question.mayJoin {
                    TextField("Your name", text: $name)
                    Button("Join") { join() }.disabled(!question.isAnswered(by: name))
                }
                Button(question.mayJoin ? "Not now" : "Close", role: .cancel) { dismiss() }
                if let failure = act.failure { Text(failure).font(.footnote) }
            }
            .task { check = try? await sync?.preview(of: invitation.link) ?? .unknown }
        }

        private func join() {
            let (link, name, label) = (invitation.link, name, check?.label)
            act {
                try await $0.accept(link, as: name, named: label).space
            } then: { space in
                dismiss()
                joined(space)
            }
        }
    }
#endif
