// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// The app's checks of its rows. The app passes them to `Store(at:synced:rowValidation:migrate:)`, and the server to
/// `ServerConfiguration`.
public let appRules = RowValidation([
    "task": { row in
        guard let start = row["start"].string, let end = row["end"].string, end < start else { return nil }
        return RowFault("endsBeforeStart", "A task ends after its start.", columns: ["start", "end"])
    }
])
