// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The epochs of the remote's database, as this device knew them and as the remote reports them now (L3). Pure. Both
/// lists agree up to the point where the database went back.
struct Lineage: Equatable, Sendable {
    /// Oldest first.
    let mine: [RemoteEpoch]
    /// Oldest first. The last one is the present one.
    let theirs: [RemoteEpoch]

    /// - Parameter theirs: All of the remote's epochs, or only the epoch of the requested cursor and the later ones.
    init(mine: [RemoteEpoch], theirs: [RemoteEpoch]) {
        self.mine = mine
        let former = mine.firstIndex { $0.name == theirs.first?.name } ?? 0
        self.theirs = mine[..<former] + theirs
    }

    /// Whether the answer to a request with one cursor also locates a table at another cursor. If not, the device must
    /// request that table separately.
    func tells(of cursor: SyncState, afterAsking asked: SyncState?) -> Bool {
        if cursor.epoch == theirs.last?.name { return asked?.epoch == cursor.epoch }
        return (mine + theirs).contains { $0.name == cursor.epoch }
    }

    /// The last transaction in common with the remote. It may be later than the cursor.
    func common(with cursor: SyncState) -> Int64 {
        if let index = theirs.firstIndex(where: { $0.name == cursor.epoch }) {
            // How far the database went back within the present epoch is unknown.
            if index == theirs.count - 1 { return theirs[index].firstSeq }
            return Self.least(theirs[(index + 1)...])
        }
        guard let own = mine.firstIndex(where: { $0.name == cursor.epoch }) else { return 0 }
        let path = mine[...own]
        guard let last = path.lastIndex(where: { epoch in theirs.contains { $0.name == epoch.name } }),
            let index = theirs.firstIndex(where: { $0.name == path[last].name })
        else { return 0 }
        return min(Self.least(path[(last + 1)...]), Self.least(theirs[(index + 1)...]))
    }

    private static func least(_ epochs: some Sequence<RemoteEpoch>) -> Int64 {
        epochs.reduce(Int64.max) { min($0, $1.firstSeq) }
    }
}
