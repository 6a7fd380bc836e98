/// A word that is not allowed, and what to write instead.
struct BannedWord {
    enum Ground {
        case code
        case comments
    }

    /// A regular expression.
    let pattern: String
    let ground: Ground
    /// The modules in which it is not allowed.
    let rooms: @Sendable (Room) -> Bool
    /// Whether it is not allowed in their tests, either.
    let alsoInTests: Bool
    let instead: String
}

let bannedWords: [BannedWord] =
    [
        pure(#"\bTask\s*(<[^>]*>\s*)?(\(|\{)"#, "decide synchronously and return a directive"),
        pure(#"\bTask\s*\.\s*(detached|immediate)"#, "decide synchronously, return a directive"),
        pure(#"\bTask\s*\.\s*sleep"#, "a deadline that the machine's `now:` reaches"),
        pure(#"\b(ContinuousClock|SuspendingClock)\b"#, "take the time as a parameter, `now:`"),
        pure(#"\bSystemRandomNumberGenerator\b"#, "the entropy port"),
        pure(#"\.random\s*\("#, "the entropy port"),
        pure(#"\.(randomElement|shuffled?)\s*\(\s*\)"#, "the entropy port"),

        anywhere(#"\bfileprivate\b"#, "private, or a file of its own"),
        anywhere(#"\btry!"#, "throw, or a precondition whose text is the invariant"),
        anywhere(#"\bas!"#, "as? with a stated answer, or a type that needs no cast"),
        anywhere(
            #"\b(struct|class|enum|actor|protocol|typealias|extension)\s+"# + #"\w*"# + vagueName,
            "a name that says what it does"),
        anywhere(
            #"\b(struct|class|enum|actor|protocol|typealias)\s+"# + retiredName,
            "the established term for it"),
        anywhere(
            #"\b(func|var|let|case)\s+("# + retiredMember + ")", "the established term for it"),
        inSources(#"\btry\?"#, "do and catch, so that the cause is handled or told"),
        BannedWord(
            pattern: #"\bimport\s+Foundation"#, ground: .code, rooms: { $0.kind != .library },
            alsoInTests: false,
            instead: "the standard library: Foundation adds 60 MB and slow coders"),
        BannedWord(
            pattern: #"#if\s+os\b"#, ground: .code, rooms: { $0.kind == .library },
            alsoInTests: false, instead: "what is on every platform, or canImport"),

        history(#"(?i)\bpreviously\b"#, "what holds; what was belongs in the commit"),
        history(#"(?i)\bno longer\b(?! than)"#, "what holds; what was belongs in the commit"),
        history(#"\b(TODO|FIXME|XXX)\b"#, "do it, or say what does not work in the README"),
    ]

/// Names that gather what belongs nowhere, as a whole word of a camel-case name.
private let vagueName = "(Util|Utils|Helper|Helpers|Common|Manager|Managers)(?![a-z])"

/// Names of types that nobody outside of the project would understand.
private let retiredName =
    "(Sights?|Sighting|Witness|SeenPlace|Cover|Levelling|Demand|Floor|Hearing|Told|Denial"
    + "|Gathering|ListAsk|HeldList|Stirred|TurnEnd|CarriedOut|FeedDesk|Watching|Announcement"
    + "|Surroundings|Behind|Listed|Notice|Notifying|Seat|Course|Copy|CopyHeader|PeerCopy"
    + "|Holders|Parcel|Journal|Generation|Fold|Chore|PageGaps|LogRoom|Words|Door|Gate"
    + "|Farewells?|Shield|Distrust|Upkeep|Whole\\w*|Dice|Plant|Weather|Cables"
    + "|LineCall|LineShape|LineView|SignInName"
    + "|\\w*(Errand|Keeper|Sight|Book|Desk))\\b"

/// The same of functions, properties and variables, in Swift and in the pages' modules.
private let retiredMember =
    #"((is|on|are|not|await)Level|(check|clear|make|has|is|no)Room)|"#
    + #"(errands?|doorkeeper|keeper|shield|seats?|sight|book|journaled)\b|"#
    + #"\w*(Errand|Doorkeeper|Keeper|Shield|Seat|Sight|Book)\b"#

private func pure(_ pattern: String, _ instead: String) -> BannedWord {
    BannedWord(
        pattern: pattern, ground: .code, rooms: { $0.kind == .core || $0.name == "Node" },
        alsoInTests: false, instead: instead)
}

private func anywhere(_ pattern: String, _ instead: String) -> BannedWord {
    BannedWord(
        pattern: pattern, ground: .code, rooms: { _ in true }, alsoInTests: true, instead: instead)
}

private func inSources(_ pattern: String, _ instead: String) -> BannedWord {
    BannedWord(
        pattern: pattern, ground: .code, rooms: { _ in true }, alsoInTests: false,
        instead: instead)
}

private func history(_ pattern: String, _ instead: String) -> BannedWord {
    BannedWord(
        pattern: pattern, ground: .comments, rooms: { _ in true }, alsoInTests: true,
        instead: instead)
}

/// The banned words that stand in a source, one offence for each line and word.
func bannedWords(in source: SourceText, house: House) throws -> [Offence] {
    guard let place = Place(path: source.path) else { return [] }
    let room = house[place.testedRoom ?? place.target]
    var offences: [Offence] = []
    for word in bannedWords where applies(word, in: place.tree, room: room) {
        let regex = try Regex(word.pattern)
        let text = word.ground == .code ? source.code : source.comments
        // Most words stand in no line of a file.
        guard text.contains(regex) else { continue }
        let lines = word.ground == .code ? source.codeLines : source.commentLines
        for (number, line) in zip(1..., lines) {
            guard let match = line.firstMatch(of: regex) else { continue }
            offences.append(
                Offence(
                    source.path, line: number,
                    "instead of '\(line[match.range])': \(word.instead)"))
        }
    }
    return offences
}

/// The retired names that a module of the pages declares.
func retiredNames(inScript path: String, _ text: String) throws -> [Offence] {
    let regex = try Regex(#"\b(const|let|function|class|get|set|async)\s+("# + retiredMember + ")")
    return zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false))
        .compactMap { number, line in
            line.firstMatch(of: regex).map {
                Offence(
                    path, line: number, "instead of '\(line[$0.range])': the established term")
            }
        }
}

private func applies(_ word: BannedWord, in tree: Place.Tree, room: Room?) -> Bool {
    guard tree == .sources || word.alsoInTests else { return false }
    // Tests of the house itself have no room.
    guard let room else { return word.alsoInTests }
    return word.rooms(room)
}

/// A file or folder with one of the names that gather what belongs nowhere.
func vagueFileName(_ path: String) throws -> [Offence] {
    let regex = try Regex(vagueName)
    return path.split(separator: "/").contains { $0.contains(regex) }
        ? [Offence(path, "name it after what it does")] : []
}

/// `@unchecked Sendable` stands only at the edges that hand memory to a C library, and in the
/// library for phones, whose callbacks are on its own queue; and each time under a comment that
/// says who owns it.
func uncheckedSendables(in source: SourceText) -> [Offence] {
    guard let place = Place(path: source.path) else { return [] }
    let mayPromise = ["NetworkIO", "Storage", "GrapevineClient"].contains(
        place.testedRoom ?? place.target)
    let codeLines = source.codeLines
    return codeLines.indices.compactMap { index in
        let parts = codeLines[index].split { !$0.isLetter && $0 != "@" }
        guard parts.contains("@unchecked") else { return nil }
        guard mayPromise else {
            return Offence(
                source.path, line: index + 1,
                "instead of '@unchecked Sendable': a value, or an actor on the loop")
        }
        let commentsAbove = source.commentLines[..<index].reversed().prefix {
            $0.contains { !$0.isWhitespace }
        }
        let isJustified = commentsAbove.contains { line in
            line.drop(while: \.isWhitespace).starts(with: "// SAFETY:")
        }
        return isJustified
            ? nil
            : Offence(
                source.path, line: index + 1,
                "'@unchecked Sendable' needs a line '// SAFETY:' above it: who owns it?")
    }
}
