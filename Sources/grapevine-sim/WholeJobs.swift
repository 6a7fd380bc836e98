import Glibc
import Simulator

/// How many runs are made at a time, between two looks at the findings.
private let batchRuns: UInt64 = 16

/// - Returns: the exit status.
func carryOutWhole(_ options: Options) async -> Int32 {
    switch options.job {
    case .seeds(let seeds):
        return await runWholeSeeds(seeds)
    case .seed(let seed, let isTraced, _):
        let run =
            isTraced
            ? WholeRun(seed: seed, tracer: { print($0) }) : WholeRun.twice(seed: seed)
        return report(run)
    case .help, .plan, .plant, .plantedAll:
        print(Options.usage, terminator: "")
        return 0
    }
}

/// Runs the seeds on every core, each twice; ends early where one broke a promise.
private func runWholeSeeds(_ seeds: Range<UInt64>) async -> Int32 {
    let began = seconds()
    var (runs, events, messages) = (0, UInt64(0), 0)
    var coverage = Coverage()
    var failed: WholeRun?
    var next = seeds.lowerBound
    await withTaskGroup(of: [WholeRun].self) { group in
        func begin() {
            guard next < seeds.upperBound, failed == nil else { return }
            let part = next..<min(next + batchRuns, seeds.upperBound)
            next = part.upperBound
            group.addTask { part.map { WholeRun.twice(seed: $0) } }
        }
        for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) { begin() }
        while let part = await group.next() {
            for run in part {
                runs += 1
                events += run.events
                messages += run.messages
                coverage.add(run.coverage)
                if run.finding != nil, run.seed < failed?.seed ?? .max { failed = run }
            }
            begin()
        }
    }
    if let failed { return report(failed) }
    for (name, count) in coverage.list { say("  \(name): \(count)") }
    say(
        "\(runs) seeds of whole nodes passed, each twice: \(messages) messages, \(events) events, "
            + "\(rate(runs, since: began)) seeds/s")
    return 0
}

private func report(_ run: WholeRun) -> Int32 {
    guard let finding = run.finding else {
        say("seed \(run.seed) passed: \(run.messages) messages, \(run.events) events")
        return 0
    }
    say("seed \(run.seed) broke a promise: \(finding.promise.rawValue)")
    say("  " + finding.explanation)
    say("again: grapevine-sim --world whole --seed \(run.seed) --trace")
    return 1
}
