// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore
import OptimistServer

/// Prints an error as a sentence to standard error, and exits with status 1.
///
/// - Parameter path: The file or place of the work. Printed before system errors, which do not always name it.
func explainingErrors(of command: String, at path: String, _ work: () async throws -> Void) async throws {
    let message: String
    do {
        return try await work()
    } catch let error as OptimistError {
        message = error.message
    } catch let error as CancellationError {
        throw error
    } catch let status as ExitCode {
        throw status
    } catch {
        message = "\(path): \(error.localizedDescription)"
    }
    tell("optimist \(command): \(message)")
    throw ExitCode.failure
}

/// The default location of data: `XDG_DATA_HOME`, or Application Support on a Mac, in the home that `HOME` names.
enum DataDirectory {
    static var standard: URL {
        let home = directory("HOME") ?? FileManager.default.homeDirectoryForCurrentUser
        #if os(macOS)
            return home.appending(path: "Library/Application Support/optimist")
        #else
            return (directory("XDG_DATA_HOME") ?? home.appending(path: ".local/share")).appending(path: "optimist")
        #endif
    }

    /// Nil if the variable is not an absolute path.
    private static func directory(_ variable: String) -> URL? {
        guard let path = ProcessInfo.processInfo.environment[variable], path.hasPrefix("/") else { return nil }
        return URL(filePath: path, directoryHint: .isDirectory)
    }
}

extension SchemaChange {
    static func parse(_ text: String) throws -> SchemaChange {
        if let change = SchemaChange(text) { return change }
        throw ValidationError(
            """
            \(text) is not a schema change. Use drop:TABLE, drop:TABLE.COLUMN, retype:TABLE.COLUMN, \
            require:TABLE.COLUMN or unique:TABLE.COLUMN.
            """)
    }
}

/// Parses a day such as `2026-11-28` into noon of that day, in UTC.
enum AcceptedTime {
    static func parse(_ text: String) throws -> Date {
        guard text.utf8.count == 10, let day = try? Date(text, strategy: .iso8601.year().month().day()) else {
            throw ValidationError("\(text) is not a day. Write it as 2026-11-28.")
        }
        return day.addingTimeInterval(12 * 3600)
    }

    static func text(_ time: Date) -> String { time.formatted(.iso8601.year().month().day()) }
}

enum LogLevel {
    static func parse(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else { throw ValidationError("\(text) is not a log level.") }
        return level
    }
}
