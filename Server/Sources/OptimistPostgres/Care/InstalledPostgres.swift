// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

package enum InstalledPostgres {
    /// The directories of `PATH`, then those where packages install several versions, latest first.
    package static var directories: [URL] {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let installed = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"].flatMap { place in
            (try? FileManager.default.contentsOfDirectory(atPath: place))?.sorted {
                $0.compare($1, options: .numeric) == .orderedDescending
            }.map { "\(place)/\($0)/bin" } ?? []
        }
        return (path + installed).map { URL(filePath: $0) }
    }
}
