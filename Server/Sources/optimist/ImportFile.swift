// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistWire

/// Reads a file of rows piece by piece, so that its size does not matter.
struct ImportFile: ~Copyable {
    enum Format: String {
        /// JSON Lines: an object in each line.
        case jsonl
        /// RFC 4180, with the names of the columns in the first line.
        case csv
    }

    let path: String
    let format: Format
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// The part of the buffer that is not read yet.
    private var next = 0
    private var isAtEnd = false
    private var line = 1
    private var header: [String]?
    private let accountColumn: String
    private var isMarkSkipped = false

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let pieceBytes = 1 << 20
    /// A longer line is not a row.
    private static let maxLineBytes = 8 << 20

    /// - Parameter accountColumn: A column that a CSV file must have.
    /// - Throws: `OptimistError` with code `import.bad` if the file cannot be read, or its name ends differently.
    init(path: String, accountColumn: String) throws {
        self.path = path
        self.accountColumn = accountColumn
        (format, descriptor) = try Self.opened(path)
    }

    private static func opened(_ path: String) throws -> (Format, Int32) {
        guard let format = Format(rawValue: URL(filePath: path).pathExtension.lowercased()) else {
            throw OptimistError(.badImport, "\(path) must end in .jsonl or .csv.")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw trouble(path) }
        return (format, descriptor)
    }

    deinit { close(descriptor) }

    /// When the file was last changed, in milliseconds since 1970.
    var modifiedMilliseconds: Int64 {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw Self.trouble(path) }
            #if canImport(Darwin)
                let time = status.st_mtimespec
            #else
                let time = status.st_mtim
            #endif
            return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        }
    }

    private static func trouble(_ path: String) -> OptimistError {
        OptimistError(.badImport, "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }

    /// The next row as a JSON object, or its fault. Nil at the end. Skips empty lines.
    ///
    /// - Throws: `OptimistError` with code `import.bad`, which names the line, if the rest of the file cannot be read as
    ///   rows.
    mutating func row() throws -> ImportBatch.Line? {
        while let record = try record() {
            let first = line
            line += 1 + record.count { $0 == UInt8(ascii: "\n") }
            if !record.contains(where: { !UInt8.isSpace($0) }) { continue }
            switch format {
            case .jsonl:
                guard let text = String(validating: record, as: UTF8.self) else {
                    return ImportBatch.Line(number: first, fault: .notUTF8)
                }
                return ImportBatch.Line(number: first, text: text)
            case .csv:
                if let row = try csvRow(record, inLine: first) { return row }
            }
        }
        return nil
    }

    // MARK: - CSV

    /// Nil: the record has the names of the columns.
    private mutating func csvRow(_ record: ArraySlice<UInt8>, inLine first: Int) throws -> ImportBatch.Line? {
        do throws(ImportBatch.Fault) {
            guard String(validating: record, as: UTF8.self) != nil else { throw .notUTF8 }
            let fields = try CSVFields.fields(of: record)
            guard let header else {
                try checkHeader(fields)
                header = fields
                return nil
            }
            guard fields.count == header.count else {
                throw .notCSV("The number of values is \(fields.count), and the first line has \(header.count) names.")
            }
            let object = JSONObject(zip(header, fields).map { ($0, .string($1)) })
            return ImportBatch.Line(number: first, text: object.description)
        } catch {
            var fault = error
            if line - first > 1 { fault.message += " It ends in line \(line - 1), because a quote has line breaks." }
            guard header != nil else {
                throw OptimistError(.badImport, "\(path), line \(first): \(fault.message)")
            }
            return ImportBatch.Line(number: first, fault: fault)
        }
    }

    private func checkHeader(_ names: [String]) throws(ImportBatch.Fault) {
        guard Set(names).count == names.count, !names.contains("") else {
            throw .notCSV("Each column needs its own name.")
        }
        guard names.contains(accountColumn) else {
            let advice =
                names.contains { $0.contains(";") }
                ? "Separate values by commas, not by semicolons." : "Name the column of accounts with --account-column."
            throw .notCSV("The column \"\(accountColumn)\" is missing. \(advice)")
        }
    }

    // MARK: - Pieces

    /// The bytes up to the next line break, which is not in quotes if the file is CSV. Nil at the end.
    private mutating func record() throws -> ArraySlice<UInt8>? {
        try skipMark()
        var searched = next
        var quotes = CSVQuotes()
        while true {
            while searched < buffer.count {
                let byte = buffer[searched]
                if format == .csv { quotes.read(byte) }
                if byte == UInt8(ascii: "\n"), !quotes.isOpen {
                    defer { next = searched + 1 }
                    return buffer[next..<searched]
                }
                searched += 1
            }
            if isAtEnd {
                guard next < buffer.count else { return nil }
                defer { next = buffer.count }
                if quotes.isOpen { throw unreadable("A quote in this row does not end.") }
                return buffer[next...]
            }
            guard buffer.count - next <= Self.maxLineBytes else {
                throw unreadable(
                    "A row may have at most 8 MB.\(quotes.isOpen ? " Perhaps a quote in it does not end." : "")")
            }
            searched -= next
            try readPiece()
        }
    }

    /// The error for the row in the present line, which has no end.
    private func unreadable(_ problem: String) -> OptimistError {
        OptimistError(
            .badImport,
            """
            \(path), line \(line): \(problem) The lines before it are not affected, and the rest was not read. Correct \
            the row, and import the file again.
            """)
    }

    /// Skips the mark that some programs put before UTF-8.
    private mutating func skipMark() throws {
        if isMarkSkipped { return }
        isMarkSkipped = true
        while buffer.count < Self.mark.count, !isAtEnd { try readPiece() }
        if buffer.starts(with: Self.mark) { next = Self.mark.count }
    }

    private mutating func readPiece() throws {
        buffer.removeFirst(next)
        next = 0
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.pieceBytes))
        let count = buffer.withUnsafeMutableBytes { bytes in
            read(descriptor, bytes.baseAddress?.advanced(by: start), Self.pieceBytes)
        }
        guard count >= 0 else { throw Self.trouble(path) }
        buffer.removeLast(Self.pieceBytes - count)
        isAtEnd = count == 0
    }
}

/// Splits a record of a CSV file into its fields.
///
/// > Source: RFC 4180.
enum CSVFields {
    private static let quote = UInt8(ascii: "\"")

    static func fields(of record: ArraySlice<UInt8>) throws(ImportBatch.Fault) -> [String] {
        var record = record
        if record.last == UInt8(ascii: "\r") { record.removeLast() }
        var fields: [String] = []
        var field: [UInt8] = []
        var index = record.startIndex
        var isQuoted = false
        func end() { fields.append(String(decoding: field, as: UTF8.self)) }
        while index < record.endIndex {
            let byte = record[index]
            let following = index + 1 < record.endIndex ? record[index + 1] : nil
            switch byte {
            case quote where isQuoted && following == quote:
                field.append(quote)
                index += 1
            case quote where isQuoted:
                guard following == nil || following == UInt8(ascii: ",") else {
                    throw .notCSV("A comma must follow the end of a quote.")
                }
                isQuoted = false
            case quote where field.isEmpty: isQuoted = true
            case UInt8(ascii: ",") where !isQuoted:
                end()
                field = []
            default: field.append(byte)
            }
            index += 1
        }
        end()
        return fields
    }
}

/// Finds the line breaks that end records: those outside quotes. A quote begins only at the start of a field, as in
/// ``CSVFields``.
private struct CSVQuotes {
    private(set) var isOpen = false
    /// Whether the next quote opens: a field starts, or a quote has just closed, so that two of them stand for one.
    private var mayOpen = true

    mutating func read(_ byte: UInt8) {
        if byte == UInt8(ascii: "\"") {
            (isOpen, mayOpen) = (!isOpen && mayOpen, isOpen)
        } else if !isOpen {
            mayOpen = byte == UInt8(ascii: ",")
        }
    }
}

extension ImportBatch.Fault {
    fileprivate static let notUTF8 = Self(
        code: "notUTF8", message: "The line is not UTF-8. Save the file as UTF-8, and import it again.")

    fileprivate static func notCSV(_ message: String) -> Self { Self(code: "notCSV", message: message) }
}

extension UInt8 {
    fileprivate static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\t")
    }
}
