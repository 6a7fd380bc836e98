import Simulator

/// The parsed command line.
struct Options {
    enum Job {
        case help
        case seeds(Range<UInt64>)
        case keptSeeds
        case traces(path: String, isWritten: Bool)
        case seed(UInt64, isTraced: Bool, isShrunk: Bool)
        case plan(path: String, isTraced: Bool)
        case seededBug(name: String)
        case plantedAll
    }

    var job = Job.help
    /// The world that the seeds determine.
    var world = WorldKind.machines
    /// The number of seeds in which a planted bug must be found.
    var within: UInt64 = 20_000
    /// The seconds after which no more seeds begin; nil to run them all.
    var seconds: UInt64?

    static let usage = """
        usage: grapevine-sim [--world NAME] --seeds A..<B [--for SECONDS] | --seeds kept
               grapevine-sim [--world NAME] --seed N [--trace] [--shrink]
               grapevine-sim --traces FILE [--write]
               grapevine-sim --plan FILE [--trace]
               grapevine-sim --plant NAME [--within N]    in a build with --traits PlantedBugs
               grapevine-sim --planted-all [--within N]   in a build with --traits PlantedBugs
               grapevine-sim --help
        Runs seeded worlds of nodes, faults and clients, and checks every promise.
        --seeds        runs these seeds on all cores, or those that once broke something
        --for          begins no more seeds after so many seconds
        --seed         runs one, and prints its plan; --trace prints every event, --shrink leaves
                       out the faults that a failure does not need
        --traces       runs the first seeds of all worlds, and compares the hash of each trace with
                       the one that a file keeps of it, or writes the file (--write); only with
                       SWIFT_DETERMINISTIC_HASHING=1 are the traces of two runs comparable
        --plan         runs a saved plan
        --plant        switches a known bug on and looks for the seed that finds it
        --planted-all  each known bug in turn
        --world        what is simulated: machines (the default), the machines of nodes in a shell
                       of the simulator's own; members, membership alone; or whole, the actors of
                       real nodes, asked in lines, each 16th seed run twice for the same trace
        --within       in how many seeds a bug must be found (default 20000)
        Exits 0 when all is well, 1 when an invariant broke, a trace differs, a required situation
        never occurred or a planted bug was not found, 2 when the command line cannot be understood
        or a file not be read or written.

        """

    struct Misused: Error {
        let words: String
    }

    init(_ arguments: [String]) throws(Misused) {
        var rest = arguments[...]
        var (isTraced, isShrunk, isWritten) = (false, false, false)
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": job = .help
            case "--planted-all": job = .plantedAll
            case "--trace": isTraced = true
            case "--shrink": isShrunk = true
            case "--write": isWritten = true
            case "--seeds":
                let seeds = rest.popFirst()
                job = seeds == "kept" ? .keptSeeds : .seeds(try Options.range(seeds))
            case "--seed":
                job = .seed(try Options.number(rest.popFirst()), isTraced: false, isShrunk: false)
            case "--world": world = try Options.world(rest.popFirst())
            case "--within": within = try Options.number(rest.popFirst())
            case "--for": seconds = try Options.number(rest.popFirst())
            case "--plan": job = .plan(path: try Options.value(of: word, &rest), isTraced: false)
            case "--plant": job = .seededBug(name: try Options.value(of: word, &rest))
            case "--traces":
                job = .traces(path: try Options.value(of: word, &rest), isWritten: false)
            default: throw Misused(words: word)
            }
        }
        switch job {
        case .seed(let seed, _, _): job = .seed(seed, isTraced: isTraced, isShrunk: isShrunk)
        case .plan(let path, _): job = .plan(path: path, isTraced: isTraced)
        case .traces(let path, _): job = .traces(path: path, isWritten: isWritten)
        default: break
        }
        if case .traces = job {} else if isWritten { throw Misused(words: "--write") }
        try refuseOtherWorlds()
        if arguments.isEmpty { throw Misused(words: "nothing asked for") }
    }

    /// Throws unless the world has the job: only machines have plan files, and a bug knows its
    /// world.
    private func refuseOtherWorlds() throws(Misused) {
        guard world != .machines else { return }
        switch job {
        case .help, .seeds, .keptSeeds, .seed(_, _, isShrunk: false): break
        case .seed, .traces, .plan, .seededBug, .plantedAll:
            throw Misused(words: "--world \(world.rawValue) takes --seeds, --seed and --trace")
        }
    }

    private static func world(_ text: String?) throws(Misused) -> WorldKind {
        guard let world = WorldKind(rawValue: text ?? "") else {
            let names = WorldKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Misused(words: "--world is one of \(names)")
        }
        return world
    }

    private static func value(
        of option: String, _ rest: inout ArraySlice<String>
    ) throws(Misused) -> String {
        guard let value = rest.popFirst() else { throw Misused(words: option) }
        return value
    }

    private static func number(_ text: String?) throws(Misused) -> UInt64 {
        guard let text, let number = UInt64(text) else {
            throw Misused(words: text ?? "a number is missing")
        }
        return number
    }

    private static func range(_ text: String?) throws(Misused) -> Range<UInt64> {
        let text = text ?? ""
        let ends = text.split(separator: "..<").compactMap { UInt64($0) }
        guard ends.count == 2, ends[0] < ends[1] else { throw Misused(words: text) }
        return ends[0]..<ends[1]
    }
}
