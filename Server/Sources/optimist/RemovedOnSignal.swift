// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import Synchronization

/// Removes a directory and ends the program on SIGINT, SIGTERM or SIGHUP.
final class RemovedOnSignal: Sendable {
    private final class Place: Sendable {
        let directory = Mutex<URL?>(nil)
    }

    private let place: Place
    // Never read. It keeps the sources alive.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    init() {
        let place = Place()
        self.place = place
        sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            #if canImport(Darwin)
                // On Darwin, the signal's default action runs before a dispatch source's handler.
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

    func set(_ directory: URL) { place.directory.withLock { $0 = directory } }
}
