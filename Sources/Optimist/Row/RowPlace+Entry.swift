// This source file is part of the Optimist open source project, under the MIT licence.

extension RowPlace {
    /// The place of an entry's row.
    ///
    /// - Parameter claims: The parked claims on the row by scope, if they are part of the decision.
    init(of entry: RowEntry, claims: [Int: Version] = [:]) {
        let remote = entry.remote
        if remote.generation == 0, remote.scope == Scope.personal, !entry.isRestored {
            self.init(claims: claims)
        } else {
            let generation = entry.isRestored ? entry.generation : remote.generation
            // A row that the user has begun again has its place, whether or not it was sent.
            self.init(
                space: Int(remote.scope), version: Version(generation: generation, firstLife: 1, seq: remote.seq),
                isNoted: entry.isAlive && generation % 2 == 0, isLost: entry.isRestored,
                claims: claims)
        }
    }
}

extension RowPlace.Version {
    init(_ content: RemotePage.Row.Content) {
        self.init(generation: content.version.life, firstLife: 1, seq: content.version.seq)
    }
}
