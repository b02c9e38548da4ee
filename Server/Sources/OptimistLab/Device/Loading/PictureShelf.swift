// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The pictures that a phone's screens hold, by path. The web page draws these.
final class PictureShelf: Sendable {
    private let pictures = Mutex<[String: Picture]>([:])

    subscript(path: String) -> Picture? {
        get { pictures.withLock { $0[path] } }
        set { pictures.withLock { $0[path] = newValue } }
    }
}
