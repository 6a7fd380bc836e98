import Glibc
import Simulator

/// Runs the job of the options.
///
/// - Returns: the exit status.
func carryOut(_ options: Options) async -> Int32 {
    switch options.job {
    case .help:
        print(Options.usage, terminator: "")
        return 0
    case .seeds(let seeds):
        let total = await runSeeds(Array(seeds), of: options.world, for: options.seconds)
        return total == nil ? 1 : 0
    case .keptSeeds:
        return await runSeeds(KeptSeeds.of(options.world), of: options.world) == nil ? 1 : 0
    case .traces(let path, let isWritten):
        return isWritten ? await writeTraces(to: path) : await compareTraces(with: path)
    case .seed(let seed, let isTraced, _) where options.world == .members:
        return runMembers(seed, isTraced: isTraced)
    case .seed(let seed, let isTraced, _) where options.world == .whole:
        return runWhole(seed, isTraced: isTraced)
    case .seed(let seed, let isTraced, let isShrunk):
        return runOne(Plan(seed: seed), isTraced: isTraced, isShrunk: isShrunk)
    case .plan(let path, let isTraced):
        guard let text = contents(of: path) else {
            say("grapevine-sim: cannot read \(path)")
            return 2
        }
        do throws(Plan.Unreadable) {
            return runOne(try Plan(parsing: text), isTraced: isTraced, isShrunk: false)
        } catch {
            say("grapevine-sim: \(path) is no plan: \(error.line)")
            return 2
        }
    case .seededBug(let name):
        guard let seededBug = SeededBug.all.first(where: { $0.name == name }) else {
            say("grapevine-sim: no planted bug \(name); this build has: \(seededBugNames)")
            return 2
        }
        return await find(seededBug, within: options.within) ? 0 : 1
    case .plantedAll:
        guard !SeededBug.all.isEmpty else {
            say("grapevine-sim: this build has no planted bugs: use --traits PlantedBugs")
            return 2
        }
        var isFound = true
        for seededBug in SeededBug.all {
            let found = await find(seededBug, within: options.within)
            isFound = isFound && found
        }
        return isFound ? 0 : 1
    }
}

private var seededBugNames: String {
    SeededBug.all.isEmpty
        ? "none (use --traits PlantedBugs)" : SeededBug.all.map(\.name).joined(separator: " ")
}

/// Runs seeds and prints their sums.
///
/// - Parameter secondsMax: the time after which no more seeds begin.
/// - Returns: the sums; nil if a promise was broken, or a required situation never occurred while
///   all seeds ran.
func runSeeds(
    _ seeds: [UInt64], of world: WorldKind, for secondsMax: UInt64? = nil
) async -> Sweep? {
    let began = seconds()
    var said = began
    let total = await sweep(
        seeds, of: world,
        progress: { sweep in
            guard seconds() - said > 5 else { return }
            said = seconds()
            say("\(sweep.runs) of \(seeds.count) seeds, \(rate(sweep.runs, since: began)) runs/s")
        },
        until: { sweep in
            let isOver = secondsMax.map { seconds() - began >= Double($0) } ?? false
            return isOver || sweep.failure != nil
        })
    if let failure = total.failure {
        report(failure.violation, at: failure.seed, of: world)
        return nil
    }
    for (name, count) in total.coverage.list { say("  \(name): \(count)") }
    say(
        "\(total.runs) seeds passed: "
            + (world == .members ? "" : "\(total.changes) changes, ")
            + "\(total.events) events, \(rate(total.runs, since: began)) runs/s, "
            + "\(rate(Int(total.events), since: began)) events/s")
    if world != .whole { printConvergence(total) }
    guard total.missing.isEmpty || total.runs < seeds.count else {
        say("never happened: \(total.missing.joined(separator: ", "))")
        return nil
    }
    return total
}

private func printConvergence(_ total: Sweep) {
    say(
        "level at most \(total.healedInMax / 1_000) ms after the heal"
            + (total.world == .machines
                ? ", \(total.caughtUpInMax / 1_000) ms after the last write" : ""))
}

private func runOne(_ plan: Plan, isTraced: Bool, isShrunk: Bool) -> Int32 {
    let run = Run(plan, tracer: isTraced ? { print($0) } : nil)
    say(run.plan.text)
    guard let violation = run.violation else {
        say(
            "passed: \(run.changes) changes, \(run.events) events, trace "
                + String(run.trace, radix: 16))
        return 0
    }
    report(violation, at: run.plan.seed, of: .machines)
    if isShrunk {
        say("needed:\n" + Run.shrunk(plan, breaking: violation.invariant).text)
    }
    return 1
}

private func runMembers(_ seed: UInt64, isTraced: Bool) -> Int32 {
    let run = MembersRun(seed: seed, tracer: isTraced ? { print($0) } : nil)
    guard let violation = run.violation else {
        say("passed: \(run.events) events, trace \(String(run.trace, radix: 16))")
        return 0
    }
    report(violation, at: seed, of: .members)
    return 1
}

private func runWhole(_ seed: UInt64, isTraced: Bool) -> Int32 {
    let run =
        isTraced ? ClusterRun(seed: seed, tracer: { print($0) }) : ClusterRun.twice(seed: seed)
    guard let violation = run.finding else {
        say(
            "passed: \(run.messages) messages, \(run.events) events, trace "
                + String(run.trace.hash, radix: 16))
        return 0
    }
    report(violation, at: seed, of: .whole)
    return 1
}

private func report(_ violation: Violation, at seed: UInt64, of world: WorldKind) {
    say("seed \(seed) broke \(violation.invariant.rawValue):")
    say("  " + violation.explanation)
    let choice = world == .machines ? "" : "--world \(world.rawValue) "
    say("again: grapevine-sim \(choice)--seed \(seed) --trace")
}

/// Searches for a seed that finds a planted bug, by an invariant that the bug breaks.
private func find(_ seededBug: SeededBug, within seeds: UInt64) async -> Bool {
    SeededBug.seededBug(seededBug)
    defer { SeededBug.seededBug(nil) }
    let began = seconds()
    var total = await sweep([seededBug.seed], of: seededBug.world, isCompared: false)
    if total.failure == nil {
        total = await sweep(Array(0..<seeds), of: seededBug.world, isCompared: false)
    }
    let name =
        seededBug.name + String(repeating: " ", count: max(1, 36 - seededBug.name.utf8.count))
    guard let failure = total.failure else {
        say("\(name)NOT FOUND in \(total.runs) seeds")
        return false
    }
    let violation = failure.violation
    let isRight = seededBug.breaks.contains(violation.invariant)
    let expected = seededBug.breaks.map { String($0.number) }.joined(separator: " or ")
    say(
        "\(name)seed \(failure.seed), \(violation.invariant.number)"
            + (isRight ? "" : " INSTEAD OF \(expected)") + ", \(tenths(seconds() - began)) s")
    if !isRight { say("  " + violation.explanation) }
    return isRight
}

func rate(_ count: Int, since began: Double) -> Int {
    Int(Double(count) / max(seconds() - began, 0.001))
}

private func tenths(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }

func contents(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    guard ferror(file) == 0 else { return nil }
    return String(validating: bytes, as: UTF8.self)
}
