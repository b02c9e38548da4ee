// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// The accounts and devices, stored in `lab.json`.
struct LabSettings: Codable, Sendable, Equatable {
    struct Account: Codable, Sendable, Equatable {
        var name: String
        var email: String
        var password: String
    }

    struct Device: Codable, Sendable, Equatable {
        var name: String
        var account: String
    }

    var accounts: [Account] = []
    var devices: [Device] = []

    static let initial = LabSettings(
        devices: [Device(name: "A", account: "planner"), Device(name: "B", account: "planner")])

    /// - Parameter initial: Returned if the file does not exist. Default: two phones.
    /// - Throws: `OptimistError` if the file cannot be read.
    static func load(from folder: URL, otherwise initial: LabSettings = .initial) throws -> LabSettings {
        let file = folder.appending(path: "lab.json")
        guard FileManager.default.fileExists(atPath: file.path) else { return initial }
        do {
            return try JSONDecoder().decode(LabSettings.self, from: Data(contentsOf: file))
        } catch {
            throw OptimistError(
                .badLabData, "\(file.path) cannot be read. Move it away to start over; the devices' data stays.",
                cause: error)
        }
    }

    func save(to folder: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: folder.appending(path: "lab.json"), options: .atomic)
    }

    /// Returns an account, and creates it if it does not exist.
    mutating func account(named name: String) -> Account {
        if let account = accounts.first(where: { $0.name == name }) { return account }
        let account = Account(
            name: name, email: "\(name)@lab.example", password: "lab-\(UUID().uuidString.lowercased())")
        accounts.append(account)
        return account
    }
}
