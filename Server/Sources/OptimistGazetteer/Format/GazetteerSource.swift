// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

package struct GazetteerSource: Hashable, Sendable {
    /// The attribution that an app must show to users who see the names.
    package let attribution: String
    package let licence: String
    /// The URL of the downloads.
    package let origin: String
    package let files: String
    /// The day of the data's latest change, as `2026-01-31`. Empty if unknown.
    package let date: String
    /// Identifies the imported data and the format. Equal files in the same format have equal versions.
    package let version: String

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
