// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

extension URL {
    /// Whether this file is a directory or inside it, also if links lead there. The file does not have to exist.
    func isInside(_ directory: URL) -> Bool { resolvedComponents.starts(with: directory.resolvedComponents) }

    /// Resolves the links in the part of the path that exists.
    private var resolvedComponents: [String] {
        var (present, rest): (URL, [String]) = (absoluteURL.standardizedFileURL, [])
        while !FileManager.default.fileExists(atPath: present.path), present.pathComponents.count > 1 {
            rest.insert(present.lastPathComponent, at: 0)
            present.deleteLastPathComponent()
        }
        return present.resolvingSymlinksInPath().pathComponents + rest
    }
}
