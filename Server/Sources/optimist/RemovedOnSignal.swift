// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import Synchronization

/// Removes a directory and ends the program when a user or the system asks it to end.
final class RemovedOnSignal: Sendable {
    private final class Place: Sendable {
        let directory = Mutex<URL?>(nil)
    }

    private let place: Place
    // Set once here, and kept only so that the sources live on. No code uses it.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    init() {
        let place = Place()
        self.place = place
        sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            #if canImport(Darwin)
                // A source comes after the signal's own action there.
                signal(number, SIG_IGN)
            #endif
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if let directory = place.directory.withLock(\.self) {
                    try? FileManager.default.removeItem(at: directory)
                }
                exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    /// Names the directory.
    func set(_ directory: URL) { place.directory.withLock { $0 = directory } }
}
