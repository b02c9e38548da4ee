// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// One import: reads cities first, then areas, then the names of both.
struct ImportPass {
    private let db: Database
    private var ids: Set<Int64> = []
    private var placeCount = 0
    private var date = ""
    private var fingerprint = Fingerprint()
    private var unreadable: [UnreadableLines] = []

    init(db: Database) { self.db = db }

    mutating func readCities(_ file: GeoNamesFile) throws {
        let insert = try db.makeStatement(
            sql: """
                INSERT INTO place (
                    id, name, latitude, longitude, is_section, country, admin1, admin2, admin3, admin4, population
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let locate = try db.makeStatement(
            sql: "INSERT INTO place_box (id, south, north, west, east) VALUES (?1, ?2, ?2, ?3, ?3)")
        unreadable.append(
            try file.forEachLine(adding: &fingerprint) { columns in
                let city = try CityLine(columns)
                guard city.isPopulated else { return }
                guard ids.insert(city.id).inserted else { throw LineProblem("the id \(city.id) appears twice") }
                let (latitude, longitude) = (city.coordinate.latitude, city.coordinate.longitude)
                try insert.execute(arguments: [
                    city.id, city.name, latitude, longitude, city.isSection, city.country, city.admin[0],
                    city.admin[1], city.admin[2], city.admin[3], city.population,
                ])
                try locate.execute(arguments: [city.id, latitude, longitude])
                date = max(date, city.date)
            })
        placeCount = ids.count
    }

    mutating func readAreas(_ file: GeoNamesFile) throws {
        let insert = try db.makeStatement(
            sql: "INSERT OR REPLACE INTO area (country, admin1, id, name) VALUES (?, ?, ?, ?)")
        unreadable.append(
            try file.forEachLine(adding: &fingerprint) { columns in
                let area = try AreaLine(columns)
                try insert.execute(arguments: [area.country, area.admin1, area.id, area.name])
                ids.insert(area.id)
            })
    }

    /// Keeps the first preferred name in each language, or else the first name.
    mutating func readNames(_ file: GeoNamesFile) throws {
        let insert = try db.makeStatement(
            sql: """
                INSERT INTO name (id, language, text, is_preferred) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET text = excluded.text, is_preferred = excluded.is_preferred
                WHERE excluded.is_preferred > is_preferred
                """)
        unreadable.append(
            try file.forEachLine(adding: &fingerprint) { columns in
                guard let name = try NameLine(columns, where: ids.contains) else { return }
                try insert.execute(arguments: [name.id, name.language.text, name.text, name.isPreferred])
            })
    }

    /// Assigns sections to places, and stores the data's source.
    mutating func finish(files: [String]) throws -> ImportReport {
        let source = GazetteerSource(files: files, date: date, fingerprint: fingerprint)
        try source.store(in: db)
        var report = ImportReport(source: source)
        report.places = placeCount
        report.sections = try Sections.settle(in: db)
        report.areas = try Int.fetchOne(db, sql: "SELECT count(*) FROM area") ?? 0
        report.names = try Int.fetchOne(db, sql: "SELECT count(*) FROM name") ?? 0
        report.unreadable = unreadable
        return report
    }
}
