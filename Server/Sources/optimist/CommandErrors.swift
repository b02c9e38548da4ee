// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore
import OptimistServer

/// Runs a command. An error becomes a sentence on standard error, and the exit status 1.
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
    } catch let status as ExitCode {
        throw status
    } catch {
        message = "\(path): \(error.localizedDescription)"
    }
    tell("optimist \(command): \(message)")
    throw ExitCode.failure
}

/// Where commands keep data unless they are told otherwise: `XDG_DATA_HOME` or its default; on a Mac, Application Support.
/// The home is the one that `HOME` names.
enum DataDirectory {
    static var standard: URL {
        let home = directory("HOME") ?? FileManager.default.homeDirectoryForCurrentUser
        #if os(macOS)
            return home.appending(path: "Library/Application Support/optimist")
        #else
            return (directory("XDG_DATA_HOME") ?? home.appending(path: ".local/share")).appending(path: "optimist")
        #endif
    }

    /// The directory that a variable of the environment names. Nil if it names none.
    private static func directory(_ variable: String) -> URL? {
        guard let path = ProcessInfo.processInfo.environment[variable], path.hasPrefix("/") else { return nil }
        return URL(filePath: path, directoryHint: .isDirectory)
    }
}

extension SchemaChange {
    /// Reads a change as an option gives it.
    static func parse(_ text: String) throws -> SchemaChange {
        if let change = SchemaChange(text) { return change }
        throw ValidationError(
            """
            \(text) is no change of a schema. Write drop:TABLE, drop:TABLE.COLUMN, retype:TABLE.COLUMN, \
            require:TABLE.COLUMN or unique:TABLE.COLUMN.
            """)
    }
}

/// Reads a day as an option gives it: its noon in UTC.
enum AcceptedTime {
    static func parse(_ text: String) throws -> Date {
        guard text.utf8.count == 10, let day = try? Date(text, strategy: .iso8601.year().month().day()) else {
            throw ValidationError("\(text) is no day. Write it as 2026-11-28.")
        }
        return day.addingTimeInterval(12 * 3600)
    }

    static func text(_ time: Date) -> String { time.formatted(.iso8601.year().month().day()) }
}

/// Reads a log level as an option gives it.
enum LogLevel {
    static func parse(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else { throw ValidationError("\(text) is no log level.") }
        return level
    }
}
