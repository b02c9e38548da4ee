// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

/// The schema of a server with a data directory: the named file, else `schema.json` in the directory, else the schema
/// the data was last served with, else a new sample.
struct SchemaFile {
    var path: String?
    var directory: URL

    /// - Parameter note: Receives a sentence if `schema.json` is outdated and therefore ignored.
    /// - Throws: ``OptimistError`` that names the file and its problem. Also if the data cannot be read.
    func read(note: (String) -> Void) throws -> Schema {
        if let path { return try Named(path: path, option: "--schema").read() }
        let remembered = try RememberedSchema.read(in: directory)
        let file = directory.appending(path: "schema.json")
        if !FileManager.default.fileExists(atPath: file.path) {
            if let remembered { return remembered }
            try writeSample(to: file)
        }
        let own = try Named(path: file.path, option: "--schema").read()
        guard let remembered, own.isOutdated(by: remembered) else { return own }
        note(
            """
            Ignoring \(file.path), which has version \(own.version) of "\(own.id)": the data was last served with \
            version \(remembered.version) of "\(remembered.id)".
            """)
        return remembered
    }

    /// A schema file that a user named.
    struct Named {
        var path: String
        var option: String

        /// - Throws: ``OptimistError`` that names the file and all its problems.
        func read() throws -> Schema {
            let text: Data
            do { text = try Data(contentsOf: URL(filePath: path)) } catch {
                throw OptimistError(.schemaConflict, sentence, cause: error)
            }
            do {
                return try Schema(servable: text)
            } catch let error as OptimistError {
                throw OptimistError(error.code, "\(path): \(error.message)", cause: error)
            }
        }

        private var sentence: String {
            let folder = URL(filePath: path).deletingLastPathComponent().path
            if !FileManager.default.fileExists(atPath: folder) {
                return "The folder \(folder) for the schema \(path) does not exist. Choose another path with \(option)."
            }
            if !FileManager.default.fileExists(atPath: path) {
                return "The schema \(path) does not exist. Choose another file with \(option)."
            }
            return "The schema \(path) cannot be read. Choose another file with \(option)."
        }

        /// Replaces the file atomically.
        func write(_ schema: Schema) throws {
            do { try Data(schema.json.readableText.utf8).write(to: URL(filePath: path), options: .atomic) } catch {
                throw OptimistError(.unreadableData, "The schema \(path) cannot be written.", cause: error)
            }
        }
    }

    private func writeSample(to file: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(Schema.planner.json.readableText.utf8).write(to: file)
        } catch {
            throw OptimistError(
                .unreadableData, "Cannot write to \(directory.path). Choose another directory with --data.",
                cause: error)
        }
    }
}

extension Schema {
    /// Whether the data was last served with a later version, or with the schema of another app.
    fileprivate func isOutdated(by served: Schema) -> Bool { id != served.id || version < served.version }
}

extension JSON {
    /// One line per member, for people to edit.
    var readableText: String { readable(indent: "") + "\n" }

    private func readable(indent: String) -> String {
        guard let members = object?.members, !members.isEmpty, members.contains(where: { $0.value.object != nil })
        else {
            return description
        }
        let lines = members.map { "\(indent)  \(JSON.string($0.key)): \($0.value.readable(indent: indent + "  "))" }
        return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
    }
}
