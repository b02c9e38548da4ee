// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import OptimistServing
import OptimistTesting
import OptimistWire

/// The schema's file: the one that was named, or the one in the data directory, which is written if it is not there.
struct SchemaFile {
    var path: String?
    var directory: URL

    /// - Throws: ``OptimistError`` that names the file and what is wrong with it.
    func read() throws -> Schema {
        let file = path.map { URL(filePath: $0) } ?? directory.appending(path: "schema.json")
        if path == nil, !FileManager.default.fileExists(atPath: file.path) { try writeSample(to: file) }
        return try Named(path: file.path, option: "--schema").read()
    }

    /// A schema's file that is there.
    struct Named {
        var path: String
        /// The option that names it.
        var option: String

        /// - Throws: ``OptimistError`` that names the file and all that is wrong with it.
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
                return "There is no folder \(folder) for the schema \(path). Name another with \(option)."
            }
            if !FileManager.default.fileExists(atPath: path) {
                return "There is no schema \(path). Name another with \(option)."
            }
            return "The schema \(path) cannot be read. Name another with \(option)."
        }

        /// Replaces the file in one step.
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
                .unreadableData, "\(directory.path) cannot be written to. Choose another directory with --data.",
                cause: error)
        }
    }
}

extension JSON {
    /// The text with a line for each member, for people to edit.
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
