// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Where a gazetteer's data is from.
package struct GazetteerSource: Hashable, Sendable {
    /// The text that an app must show to users who see the names.
    package let attribution: String
    /// The licence's name and address.
    package let licence: String
    /// Where the files can be downloaded.
    package let origin: String
    /// The names of the files that were imported.
    package let files: String
    /// The day of the data's latest change, as `2026-01-31`. Empty if no place says one.
    package let date: String
    /// Names what was imported and how: the same for the same files in the same format, and another one else.
    package let version: String

    /// The source of GeoNames' data.
    init(files: [String], date: String, fingerprint: Fingerprint) {
        attribution = "© GeoNames (https://www.geonames.org), CC BY 4.0"
        licence = "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)"
        origin = "https://download.geonames.org/export/dump/"
        self.files = files.joined(separator: ", ")
        self.date = date
        version = "\(GazetteerFormat.version)-\(fingerprint.text)"
    }

    init(_ db: Database) throws {
        let values = try Row.fetchAll(db, sql: "SELECT key, value FROM source")
            .reduce(into: [String: String]()) { $0[$1[0]] = $1[1] }
        attribution = values["attribution", default: ""]
        licence = values["licence", default: ""]
        origin = values["origin", default: ""]
        files = values["files", default: ""]
        date = values["date", default: ""]
        version = values["version", default: ""]
    }

    func store(in db: Database) throws {
        let values = [
            ("attribution", attribution), ("licence", licence), ("origin", origin), ("files", files), ("date", date),
            ("version", version),
        ]
        for (key, value) in values {
            try db.execute(sql: "INSERT INTO source (key, value) VALUES (?, ?)", arguments: [key, value])
        }
    }
}
