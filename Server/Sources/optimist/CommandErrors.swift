// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore

/// Runs a command. What goes wrong is a sentence on standard error, and the exit status 1.
///
/// - Parameter path: What the command works on, for errors that do not say so themselves.
func explainingErrors(of command: String, at path: String, _ work: () async throws -> Void) async throws {
    let message: String
    do {
        return try await work()
    } catch let error as OptimistError {
        message = error.message
    } catch let error as CancellationError {
        throw error
    } catch {
        message = "\(path): \(error.localizedDescription)"
    }
    FileHandle.standardError.write(Data("optimist \(command): \(message)\n".utf8))
    throw ExitCode.failure
}

/// Where commands keep data unless they are told otherwise: `XDG_DATA_HOME` or its default; on a Mac, Application Support.
enum DataDirectory {
    static var standard: URL {
        #if os(macOS)
            return URL.applicationSupportDirectory.appending(path: "optimist")
        #else
            let environment = ProcessInfo.processInfo.environment
            if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
                return URL(filePath: data, directoryHint: .isDirectory).appending(path: "optimist")
            }
            return FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share/optimist")
        #endif
    }
}

/// Reads a log level as an option gives it.
enum LogLevel {
    static func parse(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else { throw ValidationError("\(text) is no log level.") }
        return level
    }
}
