import Simulator

/// What the command line asks for.
struct Options {
    enum Job {
        case help
        case seeds(Range<UInt64>)
        case seed(UInt64, isTraced: Bool, isShrunk: Bool)
        case plan(path: String, isTraced: Bool)
        case plant(name: String)
        case plantedAll
    }

    var job = Job.help
    /// What the seeds decide.
    var world = WorldKind.nodes
    /// In how many seeds a planted bug must be found.
    var within: UInt64 = 20_000

    static let usage = """
        usage: grapevine-sim [--world nodes|members] --seeds A..<B
               grapevine-sim [--world nodes|members] --seed N [--trace] [--shrink]
               grapevine-sim --plan FILE [--trace]
               grapevine-sim --plant NAME [--within N]    in a build with --traits PlantedBugs
               grapevine-sim --planted-all [--within N]   in a build with --traits PlantedBugs
               grapevine-sim --help
        Runs seeded worlds of nodes, faults and clients, and checks every promise.
        --world        of whole nodes (the default), or of membership alone
        --seeds        runs these seeds on all cores
        --seed         runs one, and prints its plan; --trace prints every event, --shrink leaves
                       out the faults that a failure does not need
        --plan         runs a saved plan
        --plant        switches a known bug on and looks for the seed that finds it
        --planted-all  each known bug in turn
        --within       in how many seeds a bug must be found (default 20000)
        Exits 0 when all is well, 1 when an invariant broke or a planted bug was not found, 2 when
        the command line cannot be understood.

        """

    struct Misused: Error {
        let words: String
    }

    init(_ arguments: [String]) throws(Misused) {
        var rest = arguments[...]
        var (isTraced, isShrunk) = (false, false)
        while let word = rest.popFirst() {
            switch word {
            case "--help": job = .help
            case "--planted-all": job = .plantedAll
            case "--trace": isTraced = true
            case "--shrink": isShrunk = true
            case "--seeds": job = .seeds(try Options.range(rest.popFirst()))
            case "--seed":
                job = .seed(try Options.number(rest.popFirst()), isTraced: false, isShrunk: false)
            case "--world":
                let name = rest.popFirst() ?? ""
                guard let kind = WorldKind(rawValue: name) else { throw Misused(words: name) }
                world = kind
            case "--within": within = try Options.number(rest.popFirst())
            case "--plan", "--plant":
                guard let value = rest.popFirst() else { throw Misused(words: word) }
                job = word == "--plan" ? .plan(path: value, isTraced: false) : .plant(name: value)
            default: throw Misused(words: word)
            }
        }
        switch job {
        case .seed(let seed, _, _): job = .seed(seed, isTraced: isTraced, isShrunk: isShrunk)
        case .plan(let path, _): job = .plan(path: path, isTraced: isTraced)
        default: break
        }
        if arguments.isEmpty { throw Misused(words: "nothing asked for") }
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
