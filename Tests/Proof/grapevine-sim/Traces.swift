import Glibc
import Simulator

/// The seeds whose trace hashes are kept.
private func seedsToKeep(of world: WorldKind) -> Range<UInt64> {
    switch world {
    case .machines: 0..<1_000
    case .members: 0..<200
    case .whole: 0..<300
    }
}

/// Runs the standard list of seeds of each world, and writes the hashes of their traces.
///
/// - Returns: the exit status.
func writeTraces(to path: String) async -> Int32 {
    var traces = TraceHashes()
    for world in WorldKind.allCases {
        let seeds = Array(seedsToKeep(of: world))
        guard let total = await runSeeds(seeds, of: world) else { return 1 }
        traces.add(total.traces)
    }
    guard write(traces.text, to: path) else {
        say("grapevine-sim: cannot write \(path)")
        return 2
    }
    return 0
}

/// Runs the standard list of seeds of each world, and compares the hashes of their traces with
/// those that a file keeps.
///
/// - Returns: the exit status.
func compareTraces(with path: String) async -> Int32 {
    guard let text = contents(of: path) else {
        say("grapevine-sim: cannot read \(path)")
        return 2
    }
    let kept: TraceHashes
    do throws(TraceHashes.Unreadable) {
        kept = try TraceHashes(parsing: text)
    } catch {
        say("grapevine-sim: \(path) is no list of trace hashes: \(error.line)")
        return 2
    }
    var status: Int32 = 0
    for world in WorldKind.allCases {
        let seeds = Array(seedsToKeep(of: world))
        guard let total = await runSeeds(seeds, of: world) else { return 1 }
        let different = kept.differences(from: total.traces, in: world)
        guard !different.isEmpty else { continue }
        status = 1
        let some = different.prefix(10).map(String.init).joined(separator: " ")
        say(
            "\(different.count) of \(seeds.count) traces of --world \(world.rawValue) differ from "
                + "\(path): seeds \(some)\(different.count > 10 ? " …" : "")")
    }
    if status != 0 {
        say(
            "where the change is meant to change them: SWIFT_DETERMINISTIC_HASHING=1 grapevine-sim "
                + "--traces \(path) --write")
    }
    return status
}

private func write(_ text: String, to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let count = fwrite(text, 1, text.utf8.count, file)
    return fclose(file) == 0 && count == text.utf8.count
}
