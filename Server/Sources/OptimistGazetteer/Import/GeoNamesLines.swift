// This source file is part of the Optimist open source project, under the MIT licence.

/// A line of `cities500.txt` or a similar file.
///
/// > Source: https://download.geonames.org/export/dump/readme.txt, "The main 'geoname' table".
struct CityLine {
    var id: Int64
    var name: String
    var coordinate: Coordinate
    var featureClass: String
    var featureCode: String
    /// Nil outside all countries.
    var country: String?
    /// The codes of the administrative units, largest first, or empty.
    var admin: [String]
    var population: Int64
    /// The day of the last change, as `2026-01-31`. Empty if the column is malformed.
    var date: String

    init(_ columns: Columns) throws {
        id = try columns.integer(0)
        name = try columns.name(1)
        let (latitude, longitude) = (try columns.number(4), try columns.number(5))
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw LineProblem("\(latitude), \(longitude) is not a point on Earth")
        }
        self.coordinate = coordinate
        featureClass = try columns.text(6)
        featureCode = try columns.text(7)
        country = columns[8].isEmpty ? nil : try columns.text(8)
        admin = try (10...13).map(columns.text)
        population = columns[14].isEmpty ? 0 : try columns.integer(14)
        date = columns[18].count == 10 ? try columns.text(18) : ""
    }

    /// Whether the line is a populated place that is not historical, abandoned or destroyed.
    var isPopulated: Bool { featureClass == "P" && !["PPLH", "PPLCH", "PPLQ", "PPLW"].contains(featureCode) }

    var isSection: Bool { featureCode == "PPLX" }
}

/// A line of `admin1CodesASCII.txt`: `JP.40`, name, name in ASCII, id.
struct AreaLine {
    var country: String
    var admin1: String
    var id: Int64
    var name: String

    init(_ columns: Columns) throws {
        let code = try columns.text(0).split(separator: ".", maxSplits: 1)
        guard code.count == 2 else { throw LineProblem("column 1 is not a code such as JP.40") }
        country = String(code[0])
        admin1 = String(code[1])
        name = try columns.name(1)
        id = try columns.integer(3)
    }
}

/// A line of `alternateNamesV2.txt`.
///
/// > Source: https://download.geonames.org/export/dump/readme.txt, "The table 'alternate names'".
struct NameLine {
    var id: Int64
    var language: LanguageCode
    var text: String
    var isPreferred: Bool

    /// Nil for text that is not a current name: links and codes, which have a pseudo-language, and names that are
    /// colloquial or historic. Also nil for ids that `isWanted` rejects, which are most of the file.
    init?(_ columns: Columns, where isWanted: (Int64) -> Bool) throws {
        id = try columns.integer(1)
        guard isWanted(id), let language = LanguageCode(exactly: columns[2]) else { return nil }
        self.language = language
        text = try columns.name(3)
        isPreferred = columns.isSet(4)
        let isColloquial = columns.isSet(6)
        let isHistoric = columns.isSet(7) || (columns.count > 9 && !columns[9].isEmpty)
        if isColloquial || isHistoric { return nil }
    }
}

extension LanguageCode {
    /// Nil unless the column is only a language, unlike `zh-TW` and `wkdt`.
    fileprivate init?(exactly column: ArraySlice<UInt8>) {
        guard column.count <= 3, let text = String(validating: column, as: UTF8.self) else { return nil }
        self.init(text)
    }
}
