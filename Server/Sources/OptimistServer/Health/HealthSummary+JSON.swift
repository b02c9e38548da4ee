// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

extension HealthSummary {
    /// Shares are between 0 and 1, or null without data.
    package var json: JSON {
        [
            "apps": .array(apps.map(JSON.string)), "app": app.map(JSON.string) ?? .null,
            "versions": .array(
                versions.map { version in
                    [
                        "version": .string(version.version), "people": .int(Int64(version.people)),
                        "crashedPeople": .int(Int64(version.crashedPeople)), "launches": .int(Int64(version.launches)),
                        "crashes": .int(Int64(version.crashes)), "kills": .int(Int64(version.kills)),
                        "hangs": .int(Int64(version.hangs)),
                        "abruptEndsWithUnsentRows": .int(Int64(version.unsentEnds)),
                        "crashFreePeople": version.crashFreePeople.json,
                        "crashFreeLaunches": version.crashFreeLaunches.json,
                        "firstDay": .string(Self.text(day: version.firstDay)),
                        "lastDay": .string(Self.text(day: version.lastDay)),
                    ]
                }),
            "signatures": .array(
                signatures.map { signature in
                    [
                        "id": .string(signature.id), "signature": signature.signature.json,
                        "title": .string(Self.title(signature.signature)),
                        "people": .int(Int64(signature.sums.people)), "count": .int(Int64(signature.sums.count)),
                        "withUnsentRows": .int(Int64(signature.sums.unsent)),
                        "versions": .array(signature.sums.versions.map(JSON.string)),
                        "firstDay": .string(Self.text(day: signature.sums.firstDay)),
                        "lastDay": .string(Self.text(day: signature.sums.lastDay)),
                    ]
                }),
        ]
    }
}

extension Share {
    fileprivate var json: JSON {
        [
            "share": value.map(JSON.double) ?? .null, "atLeast": .double(interval.lowerBound),
            "atMost": .double(interval.upperBound),
        ]
    }
}
