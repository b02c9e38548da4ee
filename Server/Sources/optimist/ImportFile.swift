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

    private static let pieceBytes = 1 << 20
    /// A longer line is not a row.
    private static let maxLineBytes = 8 << 20

    /// - Throws: `OptimistError` with code `import.bad` if the file cannot be read, or its name ends differently.
    init(path: String) throws {
        self.path = path
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

    /// The next row as a JSON object, or nil at the end. Skips empty lines.
    ///
    /// - Throws: `OptimistError` with code `import.bad`, which names the line, if the rest of the file cannot be read as
    ///   rows.
    mutating func row() throws -> ImportBatch.Line? {
        switch format {
        case .jsonl:
            while let text = try record() {
                defer { line += 1 }
                if text.contains(where: { !UInt8.isSpace($0) }) {
                    return ImportBatch.Line(number: line, text: String(decoding: text, as: UTF8.self))
                }
            }
            return nil
        case .csv: return try csvRow()
        }
    }

    // MARK: - CSV

    private mutating func csvRow() throws -> ImportBatch.Line? {
        while let text = try record() {
            let first = line
            line += 1 + text.count { $0 == UInt8(ascii: "\n") }
            if !text.contains(where: { !UInt8.isSpace($0) }) { continue }
            let fields = try CSVFields.fields(of: text, inLine: first, of: path)
            guard let header else {
                guard Set(fields).count == fields.count, !fields.contains("") else {
                    throw OptimistError(.badImport, "\(path), line \(first): Each column needs its own name.")
                }
                header = fields
                continue
            }
            guard fields.count == header.count else {
                throw OptimistError(
                    .badImport,
                    "\(path), line \(first): It has \(fields.count) values, and the first line has \(header.count).")
            }
            let object = JSONObject(zip(header, fields).map { ($0, .string($1)) })
            return ImportBatch.Line(number: first, text: object.description)
        }
        return nil
    }

    // MARK: - Pieces

    /// The bytes up to the next line break, which is not in quotes if the file is CSV. Nil at the end.
    private mutating func record() throws -> ArraySlice<UInt8>? {
        var searched = next
        var isQuoted = false
        while true {
            while searched < buffer.count {
                let byte = buffer[searched]
                if byte == UInt8(ascii: "\""), format == .csv { isQuoted.toggle() }
                if byte == UInt8(ascii: "\n"), !isQuoted {
                    defer { next = searched + 1 }
                    return buffer[next..<searched]
                }
                searched += 1
            }
            if isAtEnd {
                guard next < buffer.count else { return nil }
                defer { next = buffer.count }
                guard !isQuoted else {
                    throw OptimistError(.badImport, "\(path), line \(line): A quote does not end.")
                }
                return buffer[next...]
            }
            guard buffer.count - next <= Self.maxLineBytes else {
                throw OptimistError(.badImport, "\(path), line \(line): A row may have at most 8 MB.")
            }
            searched -= next
            try readPiece()
        }
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

    static func fields(of record: ArraySlice<UInt8>, inLine line: Int, of path: String) throws -> [String] {
        var record = record
        if record.last == UInt8(ascii: "\r") { record.removeLast() }
        // The mark that some programs put before UTF-8.
        if line == 1, record.starts(with: [0xEF, 0xBB, 0xBF]) { record.removeFirst(3) }
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
                    throw OptimistError(.badImport, "\(path), line \(line): A comma must follow the end of a quote.")
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

extension UInt8 {
    fileprivate static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\t")
    }
}
