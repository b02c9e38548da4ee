// This source file is part of the Optimist open source project, under the MIT licence.

/// Detects the passwords that attackers try first: common words with or without digits, keyboard rows and repetitions.
/// Rules find more than a list could hold: "Football12!" is refused because of its word.
///
/// > Source: the top words of the UK National Cyber Security Centre's list of the 100,000 most used passwords in
/// > breaches (2019, from Have I Been Pwned), limited to words of 8 characters or more that the rules below do not
/// > find.
enum CommonPasswords {
    /// - Parameter password: In lower case.
    static func contains(_ password: String) -> Bool {
        isWord(password) || isRepetition(password) || isOnKeyboard(password)
    }

    /// A common word with at most six other characters around it.
    private static func isWord(_ password: String) -> Bool {
        if words.contains(password) { return true }
        let start = password.drop { !$0.isLetter }
        let word = start.prefix(upTo: start.lastIndex(where: \.isLetter).map(start.index(after:)) ?? start.startIndex)
        return password.count - word.count <= 6 && words.contains(String(word))
    }

    /// The same one to four characters repeated: `aaaaaaaa`, `12341234`.
    private static func isRepetition(_ password: String) -> Bool {
        let characters = Array(password)
        return (1...4).contains { length in
            characters.count >= 2 * length
                && characters.indices.dropFirst(length).allSatisfy { characters[$0] == characters[$0 - length] }
        }
    }

    /// A part of a keyboard row or the alphabet, in either direction, followed by at most four other characters.
    private static func isOnKeyboard(_ password: String) -> Bool {
        (0...4).contains { rest in
            let part = password.dropLast(rest)
            return part.count >= 6 && rows.contains { $0.contains(part) }
        }
    }

    private static let rows: [String] = [
        "01234567890123456789", "qwertyuiop", "asdfghjkl;", "zxcvbnm,", "azertyuiop", "qwertzuiop", "qsdfghjklm",
        "abcdefghijklmnopqrstuvwxyz", "1qaz2wsx3edc4rfv5tgb", "qazwsxedcrfvtgb", "1q2w3e4r5t6y7u8i9o0p",
        "q1w2e3r4t5y6u7i8", "qweasdzxc", "zaq12wsxcde34rfv", "zaq1xsw2cde3", "1qazxsw23edc", "147258369", "159753",
        "741852963", "789456123", "a1b2c3d4e5f6", "1a2b3c4d5e6f", "123qweasdzxc", "1234qwerasdfzxcv", "abcd1234",
        "112233445566778899", "1029384756", "pqowieuryt",
    ].flatMap { [$0, String($0.reversed())] }

    private static let words: Set<String> = Set(
        """
        abcd access admin administrator alejandro alexander alexandra alexandre anastasia angelina anthony argentina arsenal
        asdf asshole australia babygirl barcelona baseball basketball batman beautiful benjamin bestfriend bigdaddy bismillah
        blessed blink brooklyn bulldogs butterfly buttercup california cameron carolina caroline changeme changeit charlie
        charlotte cheese chelsea chicago chicken children chocolate christian christina christine christmas christopher
        cocacola colorado computer consumer cookie courtney cowboys crystal danielle darkness daniel default destiny diamond
        dolphin dragon elephant elizabeth eminem emmanuel engineer england everton facebook family fernando ferrari florence
        florida flower football forever francesca francesco francisco freedom friends friendster fuckyou fuckoff gabriel
        garfield gateway george giovanni goodluck google greenday guest guitar hahaha hannah happiness harley harrypotter
        hello hellokitty hockey hollywood hunter iloveyou iloveu iloveme internet jackson jamesbond jasmine jennifer jessica
        jesus jesuschrist jonathan jordan joshua justin juventus killer kimberly kingkong krishna ladybug lasvegas lebron
        leonardo letmein linkedin linkinpark liverpool logitech login lollipop london love loveyou lovely maggie manchester
        margaret mariposa marlboro marseille master matthew maverick melissa mercedes metallica michael michelle microsoft
        midnight minecraft monkey monster motdepasse motorola mustang mylove myspace naruto nicholas nicole nintendo nothing
        p@ssw0rd p@ssword pa55word pakistan panasonic paradise parola parool pass passion passw0rd passwort password passport
        patricia patrick peanut pepper phoenix playboy playstation pokemon poohbear popcorn portugal precious princess
        princesa pumpkin purple qwer qwert qwerty raiders rainbow ranger realmadrid remember robert rockstar ronaldo
        runescape samantha samsung santiago scarface scooter sebastian secret security serenity shadow shannon shopping
        skittles slipknot snowball soccer softball sparky spiderman spongebob starwars steelers stephanie strawberry success
        summer sunflower sunshine superman superstar sweetheart sweetpea swordfish teddybear test tester testing thomas
        thunder tigger tinkerbell trinity trustno twilight unicorn valentina valentine vanessa veronica victoria virginia
        volleyball warcraft welcome welkom westside whatever william windows winter wolverine yankees zachary
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
