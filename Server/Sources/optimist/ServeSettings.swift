// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Configuration
import Foundation
import OptimistWire

/// Collects the settings from flags, else the environment, else a file, else the defaults.
///
/// A setting has one name: `--admin-port` is OPTIMIST_ADMIN_PORT in the environment and "admin-port" in the file.
/// Values are parsed as flags, so the same values are valid in every source.
struct ServeSettings {
    /// Earlier cases take precedence.
    enum Source: Hashable {
        case flag
        case environment(variable: String)
        case file(String)
        case standard
    }

    private(set) var sources: [String: Source] = [:]
    /// The settings from the environment and the file, as flags.
    private(set) var arguments: [String] = []

    /// - Parameters:
    ///   - flags: The arguments of the command.
    ///   - environment: The variables of the process.
    ///   - file: The path of an existing file, if any.
    /// - Throws: `ValidationError` that names the variable, or the file and the key, of an invalid value. Also if the
    ///   file has an unknown key or is not JSON.
    init(flags: [String], environment: [String: String], file: String?) throws {
        let variables = EnvironmentVariablesProvider(environmentVariables: environment).snapshot()
        let settings = try file.map(Self.read)
        var added: [String: [String]] = [:]
        for setting in ServeSetting.all {
            let name = setting.name
            if flags.contains(where: setting.isNamed) {
                sources[name] = .flag
            } else if setting.isInEnvironment,
                let found = try setting.arguments(variables, "optimist", at: { Source.environment(variable: $0) })
            {
                (sources[name], added[name]) = (found.source, found.arguments)
            } else if let file, let settings,
                let found = try setting.arguments(settings, nil, at: { _ in Source.file(file) })
            {
                (sources[name], added[name]) = (found.source, found.arguments)
            } else {
                sources[name] = .standard
            }
        }
        if let other = try placeThatLost() { (sources[other], added[other]) = (.standard, nil) }
        arguments = ServeSetting.all.flatMap { added[$0.name] ?? [] }
        // OPTIMIST_SECRET is the secret, so `ServeSetting` does not read it as a path.
        if sources["secret"] == .standard, environment["OPTIMIST_SECRET"] != nil {
            sources["secret"] = .environment(variable: "OPTIMIST_SECRET")
        }
    }

    /// Resolves data and database as one setting: the source with the higher precedence wins.
    ///
    /// - Returns: The name of the setting to ignore, if a source with lower precedence contains it.
    /// - Throws: `ValidationError` if one source contains both.
    private func placeThatLost() throws -> String? {
        guard let data = sources["data"], let database = sources["database"],
            data != .standard, database != .standard
        else { return nil }
        if data.rank < database.rank { return "database" }
        if database.rank < data.rank { return "data" }
        throw ValidationError("Name \(data.place("data")) or \(database.place("database")), not both.")
    }

    private static func read(_ path: String) throws -> any ConfigSnapshot {
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            let names = ServeSetting.all.map(\.name)
            for (key, value) in try JSON(parsing: data).object?.members ?? [] {
                guard let setting = ServeSetting.all.first(where: { $0.name == key }) else {
                    throw ValidationError(
                        "\(path): \"\(key)\" is not a setting. The settings are \(names.joined(separator: ", ")).")
                }
                // The provider treats values of some other types as missing.
                guard setting.kind.includes(value) else {
                    throw ValidationError("\(path): \"\(key)\" must be \(setting.kind.words).")
                }
            }
            return try JSONSnapshot(data: data.bytes, providerName: path, parsingOptions: .default)
        } catch let error as ValidationError {
            throw error
        } catch let error as CocoaError {
            throw ValidationError("\(path) cannot be read: \(error.localizedDescription)")
        } catch {
            throw ValidationError(
                "\(path) is not a settings file, which is one JSON object, such as {\"port\": 8090}. \(error)")
        }
    }

    /// The secret is hidden.
    func lines(of command: ServeCommand) -> [String] {
        let rows = ServeSetting.all.map { setting in
            (setting.name, value(of: setting, command), (sources[setting.name] ?? .standard).text(setting.name))
        }
        let widths = (rows.map(\.0.count).max() ?? 0, rows.map(\.1.count).max() ?? 0)
        return rows.map { name, value, source in
            let columns = [(name, widths.0), (value, widths.1)].map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }
            return "\(columns[0])  \(columns[1])  \(source)"
        }
    }

    private func value(of setting: ServeSetting, _ command: ServeCommand) -> String {
        if setting.name == "secret", sources["secret"] == .environment(variable: "OPTIMIST_SECRET") {
            return "(hidden)"
        }
        return setting.value(command) ?? "-"
    }
}

extension ServeSettings.Source {
    fileprivate var rank: Int {
        switch self {
        case .flag: 0
        case .environment: 1
        case .file: 2
        case .standard: 3
        }
    }

    fileprivate func text(_ name: String) -> String {
        switch self {
        case .flag: "--\(name)"
        case .environment(let variable): variable
        case .file(let path): path
        case .standard: "default"
        }
    }

    fileprivate func place(_ name: String) -> String {
        if case .file(let path) = self { return "\(path): \"\(name)\"" }
        return text(name)
    }
}

extension ServeSetting {
    fileprivate func isNamed(_ argument: String) -> Bool {
        [name, "no-\(name)"].contains { argument == "--\($0)" || argument.hasPrefix("--\($0)=") }
    }

    /// Returns a source's value as the equivalent flag. Nil if the source does not have a value.
    ///
    /// - Throws: `ValidationError` if the value is invalid.
    fileprivate func arguments(
        _ values: any ConfigSnapshot, _ prefix: String?, at source: (String) -> ServeSettings.Source
    ) throws -> (source: ServeSettings.Source, arguments: [String])? {
        let key = AbsoluteConfigKey((prefix.map { [$0] } ?? []) + [name], context: [:])
        // The error for a wrong type does not contain the variable's name, so derive it here.
        let variable = "OPTIMIST_" + name.uppercased().replacing("-", with: "_")
        let found: ConfigValue?
        do { found = try values.value(forKey: key, type: kind.type).value } catch {
            throw ValidationError("\(source(variable).place(name)) must be \(kind.words).")
        }
        guard let found else { return nil }
        let flags = found.content.flags(name)
        do { _ = try ServeCommand.parse(flags) } catch {
            throw ValidationError("\(source(variable).place(name)): \(ServeCommand.message(for: error))")
        }
        return (source(variable), flags)
    }
}

extension ServeSetting.Kind {
    fileprivate var type: ConfigType {
        switch self {
        case .text: .string
        case .number: .int
        case .choice: .bool
        case .list: .stringArray
        }
    }

    fileprivate func includes(_ value: JSON) -> Bool {
        switch self {
        case .text: value.string != nil
        case .number: value.int != nil
        case .choice: value == true || value == false
        case .list: value.array?.allSatisfy { $0.string != nil } ?? false
        }
    }

    fileprivate var words: String {
        switch self {
        case .text: "a string"
        case .number: "a whole number"
        case .choice: "true or false"
        case .list: "a list of strings: [\"…\", \"…\"] in a file, separated by commas in the environment"
        }
    }
}

extension ConfigContent {
    fileprivate func flags(_ name: String) -> [String] {
        switch self {
        case .string(let text): ["--\(name)=\(text)"]
        case .int(let number): ["--\(name)=\(number)"]
        case .bool(let isOn): [isOn ? "--\(name)" : "--no-\(name)"]
        case .stringArray(let texts): texts.map { "--\(name)=\($0)" }
        // `ServeSetting.Kind` does not have other types.
        default: []
        }
    }
}
