import CSystem
import Glibc

/// The commands of `grapevine-bench`, which measure and test real nodes.
package enum Bench {
    static let usage = """
        usage: grapevine-bench <command> …

          sends    sends a second, and how long one takes
          first    the first figures: one node and five, and one client
          all      every figure that the design aims for, beside what the machine can do
          chaos    kills, wipes and stops nodes under load, and looks for what is lost
          attack   sends what no client and no node sends, and looks whom it costs what
          widest   asks for the largest answers, and measures how long another client waits
          client   measures what an app on the library for phones has to wait for
          --help   prints this; grapevine-bench <command> --help tells of one

        """

    /// - Parameter words: the process's arguments, with its own name first.
    /// - Returns: the process's exit status.
    package static func run(_ words: [String]) -> Int32 {
        let rest = Array(words.dropFirst(2))
        guard words.count > 1 else { return refuse("no command", usage) }
        switch words[1] {
        case "child": return ChildProcess.become(rest)
        case "--help", "-h", "help": return say(usage)
        case "sends", "first", "all", "chaos", "attack", "widest", "client": break
        case let word: return refuse("unknown command: \(word)", usage)
        }
        if rest.contains("--help") || rest.contains("-h") { return say(usage(of: words[1])) }
        csystem_ignore_signals()
        _ = csystem_raise_descriptor_limit()
        do throws(BenchError) {
            return try perform(words[1], rest)
        } catch {
            switch error.kind {
            case .usage:
                return refuse(error.sentence, "try: grapevine-bench \(words[1]) --help\n")
            case .failure:
                put("grapevine-bench: \(error.sentence)\n", to: STDERR_FILENO)
                return 1
            }
        }
    }

    private static func usage(of command: String) -> String {
        switch command {
        case "chaos": ChaosCommand.usage
        case "attack": AttackCommand.usage
        case "widest": WidestCommand.usage
        case "client": ClientCommand.usage
        case "all": SuiteCommand.usage
        default: SendsCommand.usage
        }
    }

    private static func perform(
        _ name: String, _ words: [String]
    ) throws(BenchError) -> Int32 {
        switch name {
        case "chaos":
            let command = try ChaosCommand(words)
            return try Stage.perform(command.run)
        case "attack":
            let command = try AttackCommand(words)
            return try Stage.perform(command.run)
        case "widest":
            let command = try WidestCommand(words)
            return try Stage.perform(command.run)
        case "client":
            let command = try ClientCommand(words)
            return try Stage.perform(command.run)
        case "all":
            let command = try SuiteCommand(words)
            try command.emptyFile()
            return try Stage.perform(command.run)
        default:
            let commands =
                name == "sends" ? [try SendsCommand(words)] : try SendsCommand.first(words)
            return try Stage.perform { () async throws(BenchError) in
                for command in commands { try await command.run() }
                return 0
            }
        }
    }

    /// The path of the `grapevine` binary in the folder of this one.
    static var neighbour: String { neighbour(named: "grapevine") }

    /// Returns the path of another program in the folder of this one.
    static func neighbour(named name: String) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let bytes = buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:))
        let path = String(decoding: bytes, as: UTF8.self)
        return path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/") + "/" + name
    }

    private static func say(_ text: String) -> Int32 {
        put(text, to: STDOUT_FILENO)
        return 0
    }

    private static func refuse(_ sentence: String, _ hint: String) -> Int32 {
        put("grapevine-bench: \(sentence)\n\(hint)", to: STDERR_FILENO)
        return 64
    }
}
