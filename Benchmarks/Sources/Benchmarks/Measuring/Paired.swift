// This source file is part of the Optimist open source project, under the MIT licence.

/// Two ways to do the same thing, measured in alternation, so that changes of the machine's speed affect both.
struct Paired {
    let subject: Samples
    let rival: Samples
    /// The median of the rounds' ratios.
    let ratio: Double

    /// - Parameters:
    ///   - rounds: The number of rounds, after a warm-up round. The two sides take turns in going first.
    ///   - subject: Returns the times of one round, in seconds.
    init(
        rounds: Int, subject: () async throws -> [Double], rival: () async throws -> [Double]
    ) async throws {
        var (ours, theirs, ratios): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0...rounds {
            let (our, their): ([Double], [Double])
            if round.isMultiple(of: 2) {
                our = try await subject()
                their = try await rival()
            } else {
                their = try await rival()
                our = try await subject()
            }
            if round == 0 { continue }
            ours += our
            theirs += their
            ratios.append(Samples(our).median / Samples(their).median)
        }
        (self.subject, self.rival, ratio) = (Samples(ours), Samples(theirs), Samples(ratios).median)
    }
}
