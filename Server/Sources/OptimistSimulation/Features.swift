// This source file is part of the Optimist open source project, under the MIT licence.

/// What the simulated app makes use of.
enum Features {
    /// Whether rows are deleted to which a row of another device may refer.
    static let deletesParents = false
    /// The kinds of faults that are left out.
    static let absent: Set<Plan.Kind> = [.skew]
}
