// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
import OptimistWire

/// A row with the clock of each column and the history that the server remembers.
struct AdminRow {
    private let id: String
    private let place: LogPosition
    private let bornSeq: Int64
    private let generation: Int
    private let content: JSON
    private var mergedInto: String?

    init(_ row: LoggedRow) {
        id = row.id
        place = row.place
        bornSeq = row.bornSeq
        generation = row.generation
        content = (try? JSON(parsing: row.content)) ?? .null
    }

    init(id: String, _ row: StoredRow) {
        self.id = id
        place = row.place
        bornSeq = row.bornSeq
        generation = row.row.generation
        content = (try? JSON(parsing: row.content(id: id))) ?? .null
        mergedInto = row.memory.mergedInto
    }

    var json: JSON {
        let isAlive = generation % 2 == 1
        let patch = content.object.flatMap { RowPatch(json: $0) }
        let deletion = isAlive ? nil : Tombstone(json: content)
        return [
            "id": .string(id), "seq": .int(place.seq), "bornSeq": .int(bornSeq), "generation": .int(Int64(generation)),
            "isAlive": .bool(isAlive),
            "deleted": deletion?.clock.map(\.adminJSON) ?? .null,
            "mergedInto": (mergedInto ?? deletion?.mergedInto).map(JSON.string) ?? .null,
            "columns": .array(
                (isAlive ? patch?.values.members ?? [] : []).map { name, value in
                    [
                        "name": .string(name), "value": value,
                        "clock": patch?.clocks?[name].map(\.adminJSON) ?? .null,
                    ]
                }),
        ]
    }
}

extension WriteClock {
    fileprivate var adminJSON: JSON {
        let time = Date(timeIntervalSince1970: Double(stamp.milliseconds) / 1000)
        return ["time": .string(time.utcText), "counter": .int(Int64(stamp.counter)), "device": .string(device)]
    }
}
