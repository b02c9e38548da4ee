// This source file is part of the Optimist open source project, under the MIT licence.

import CLibPQ

/// A connection URL for PostgreSQL's programs: the password in the environment, which other users cannot read, and the
/// rest as the argument of `--dbname`.
struct ConnectionWords: Equatable {
    var argument: String
    var environment: [String: String]

    /// - Throws: ``PostgresError`` `unreachable` if the URL is not valid.
    init(_ url: String) throws(PostgresError) {
        var problem: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &problem) else {
            let message = problem.map { String(cString: $0) } ?? "The connection URL cannot be read."
            PQfreemem(problem)
            throw PostgresError(.unreachable, message)
        }
        defer { PQconninfoFree(options) }
        var words: [String: String] = ["target_session_attrs": "read-write"]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { words[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        environment = words.removeValue(forKey: "password").map { ["PGPASSWORD": $0] } ?? [:]
        argument = words.sorted { $0.key < $1.key }.map { "\($0.key)='\(Self.escaped($0.value))'" }.joined(
            separator: " ")
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
