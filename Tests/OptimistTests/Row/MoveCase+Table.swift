// This source file is part of the Optimist open source project, under the MIT licence.

extension MoveCase {
    static let all = pages + claims + answers + losses

    private static let here: [Event] = [.row(.a, "A", at: 10)]
    private static let any: [[Edit]] = [[], [.edit], [.delete], [.edit, .delete]]

    private static let pages = [
        MoveCase(
            here, any, .left(.a, to: .b, life: 3), said: "B: A@10, life 3", unsent: "the same",
            shows: "the same, in B"),
        MoveCase(
            here, [[.edit]], .left(.a, to: .x, life: 3), said: "A: ended, life 2",
            unsent: "nothing, journal `movedAway`",
            shows: "nothing"),
        MoveCase(
            here, [[.move(.c, at: 20)]], .left(.a, to: .b, at: 15, life: 3), said: "B: A@10, life 3",
            unsent: "the same", shows: "A, in C"),
        MoveCase(
            here, [[.move(.c, at: 20)]], .left(.a, to: .b, at: 30, life: 3), said: "B: A@10, life 3",
            unsent: "nothing", shows: "A, in B"),
        MoveCase(
            here, [[.edit]], .ended(.a, life: 2), said: "A: ended, life 2", unsent: "nothing, journal", shows: "nothing"
        ),
        MoveCase(
            here, [[.edit]], .row(.a, "B", at: 15, life: 5), said: "A: B@15, life 5", unsent: "the same",
            shows: "M, in A"),
        MoveCase(
            here, [[.edit]], .row(.a, "D", at: 50, life: 3, firstLife: 3), said: "A: D@50, life 3",
            unsent: "nothing, journal", shows: "D, in A"),
        MoveCase(
            [.row(.b, "A", at: 10, life: 3)], [[.edit]], .row(.b, "O", at: 5), unsent: "the same", shows: "M, in B"),
    ]

    private static let claims = [
        MoveCase(
            here, any, .row(.b, "D", at: 50, life: 3), said: "A: A@10, claim B: D@50, life 3", unsent: "the same",
            shows: "the same, in A"),
        MoveCase(
            [.row(.a, "A", at: 10, life: 3)], [[]], .row(.b, "D", at: 50), unsent: "nothing", shows: "A, in A"),
        MoveCase(
            here + [.row(.b, "D", at: 50, life: 3)], [[]], .left(.a, to: .b, life: 3), said: "B: D@50, life 3",
            unsent: "nothing", shows: "D, in B"),
        MoveCase(
            here + [.left(.b, to: .c, life: 5)], [[]], .left(.a, to: .b, life: 3), said: "C: A@10, life 5",
            unsent: "nothing", shows: "A, in C"),
        MoveCase(
            here + [.ended(.b, life: 4)], [[]], .left(.a, to: .b, life: 3), said: "B: ended, life 4", unsent: "nothing",
            shows: "nothing"),
        MoveCase(
            here + [.row(.b, "D", at: 50)], [[]], .ended(.a, life: 2), said: "B: D@50", unsent: "nothing",
            shows: "D, in B"),
        MoveCase(
            here + [.row(.b, "D", at: 50, life: 3)], [[.edit]], .left(.a, to: .x, life: 3), said: "B: D@50, life 3",
            unsent: "nothing, journal `movedAway`", shows: "D, in B"),
        MoveCase(
            [], [[.create(.a), .send]], .row(.b, "D", at: 50), said: "A: life 0, sent, claim B: D@50",
            unsent: "the same",
            shows: "M, in A"),
    ]

    private static let answers = [
        MoveCase(
            here, [[.move(.b, at: 20)]], .accepted, said: "B: A@10, life 3", unsent: "nothing", shows: "A, in B"),
        MoveCase(
            here, [[.move(.b, at: 20)]], .moved(from: .a, to: .c, at: 15, life: 3), said: "C: A@10, life 3",
            unsent: "the same", shows: "A, in B"),
        MoveCase(
            here, [[.edit], [.delete]], .moved(from: .a, to: .b, at: 15, life: 3), said: "B: A@10, life 3",
            unsent: "the same", shows: "the same, in B"),
        MoveCase(here, [[.move(.b, at: 20)]], .behind, unsent: "the same", shows: "A, in B"),
        MoveCase(
            here, [[.edit, .move(.b, at: 20)]], .refused, unsent: "nothing, rejection", shows: "A, in A"),
        MoveCase(
            [], [[.create(.a), .send]], .refused, said: "nothing", unsent: "nothing, rejection", shows: "nothing"),
        MoveCase(
            [], [[.create(.a), .send, .move(.b, at: 25)]], .assembly,
            unsent: "create M@20, move to B@25, copy from A to B, with the whole row", shows: "M, in B"),
        MoveCase(
            [], [[.create(.a), .send, .move(.b, at: 25)]], .moved(from: .a, to: .c, at: 30, life: 3),
            said: "C: life 3", unsent: "edit M@20", shows: "M, in C"),
    ]

    private static let losses = [
        MoveCase(here, [[.edit]], .accessEnded(.a), said: "nothing", unsent: "nothing, rejection", shows: "nothing"),
        MoveCase(
            here, [[.move(.b, at: 20)]], .accessEnded(.b), unsent: "nothing, rejection", shows: "A, in A"),
        MoveCase(
            here + [.row(.b, "D", at: 50, life: 3)], [[]], .accessEnded(.b), said: "A: A@10", unsent: "nothing",
            shows: "A, in A"),
        MoveCase(
            here + [.row(.b, "D", at: 50, life: 3)], [[]], .accessEnded(.a), said: "B: D@50, life 3", unsent: "nothing",
            shows: "D, in B"),
    ]
}
