// This source file is part of the Optimist open source project, under the MIT licence.

/// Some lines of a file that `optimist import` reads, with the rules for reading them.
package struct ImportBatch: Codable, Sendable {
    /// The text that names the account of a row.
    package enum AccountKey: String, Codable, CaseIterable, Sendable {
        /// The email address.
        case email
        /// The subject of an identity of ``ImportBatch/issuer``.
        case identity
        /// The id of an account or a space.
        case column
    }

    /// A line of the file, with one row.
    package struct Line: Codable, Sendable {
        /// Counted from 1. In CSV, the line where the row begins.
        package var number: Int
        /// A JSON object. Empty if the line has a fault.
        package var text: String
        /// Why the line is refused. Nil: its text has to be checked.
        package var fault: Fault?

        package init(number: Int, text: String) {
            self.number = number
            self.text = text
        }

        package init(number: Int, fault: Fault) {
            self.number = number
            text = ""
            self.fault = fault
        }
    }

    /// Why a line is not imported.
    package struct Fault: Error, Codable, Equatable, Sendable {
        package var code: String
        package var message: String

        package init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// The run of the command, which remembers the accounts that it has found.
    package var run: String
    package var type: String
    package var accountKey: AccountKey
    package var issuer: String?
    /// The member that names the account.
    package var accountColumn: String
    /// The member with the row's id.
    package var idColumn: String
    /// The time of all values, in milliseconds since 1970.
    package var milliseconds: Int64
    package var isDryRun: Bool
    /// Whether all values are texts, as in CSV, which the columns' types convert.
    package var isText: Bool
    package var lines: [Line] = []

    package init(
        run: String, type: String, accountKey: AccountKey, issuer: String?, accountColumn: String, idColumn: String,
        milliseconds: Int64, isDryRun: Bool, isText: Bool
    ) {
        self.run = run
        self.type = type
        self.accountKey = accountKey
        self.issuer = issuer
        self.accountColumn = accountColumn
        self.idColumn = idColumn
        self.milliseconds = milliseconds
        self.isDryRun = isDryRun
        self.isText = isText
    }
}

/// The effect of a batch, or of all batches of a file.
package struct ImportReport: Codable, Equatable, Sendable {
    /// A row that the import does not store.
    package struct Refusal: Codable, Equatable, Sendable {
        package var line: Int
        package var code: String
        package var message: String

        package init(line: Int, code: String, message: String) {
            self.line = line
            self.code = code
            self.message = message
        }
    }

    package var written = 0
    package var unchanged = 0
    /// The rows that were deleted, merged or moved on the server.
    package var gone = 0
    /// In a dry run, the rows that refer to rows which the server does not have yet.
    package var waiting = 0
    /// In the order of the lines.
    package var refused: [Refusal] = []

    package init() {}
}
