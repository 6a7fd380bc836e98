import Glibc
import Simulator

/// How many runs are made at a time, between two looks at the clock and the findings: whole nodes
/// take a hundred times as long.
private func batchRuns(of world: WorldKind) -> Int { world == .whole ? 8 : 64 }

/// One run of whole nodes in so many is made twice, for the same trace.
private let seedsPerComparison: UInt64 = 16

/// Runs the seeds on every core; ends early where `stop` says so of what was found.
///
/// - Parameter isCompared: whether some runs of whole nodes are made twice, for the same trace.
func sweep(
    _ seeds: [UInt64], of world: WorldKind, isCompared: Bool = true,
    progress: ((Sweep) -> Void)? = nil,
    until stop: (Sweep) -> Bool = { $0.failure != nil }
) async -> Sweep {
    var total = Sweep(world)
    var left = seeds[...]
    await withTaskGroup(of: Sweep.self) { group in
        func begin() {
            let part = left.prefix(batchRuns(of: world))
            guard !part.isEmpty else { return }
            left = left.dropFirst(part.count)
            group.addTask {
                var sweep = Sweep(world)
                for seed in part {
                    switch world {
                    case .machines: sweep.add(Run(Plan(seed: seed)))
                    case .members: sweep.add(MembersRun(seed: seed))
                    case .whole:
                        let isTwice = isCompared && seed.isMultiple(of: seedsPerComparison)
                        sweep.add(isTwice ? ClusterRun.twice(seed: seed) : ClusterRun(seed: seed))
                    }
                    if sweep.failure != nil { break }
                }
                return sweep
            }
        }
        for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) { begin() }
        while let part = await group.next() {
            total.add(part)
            progress?(total)
            if !stop(total) { begin() }
        }
    }
    return total
}

/// Seconds since some moment.
func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func say(_ text: String) {
    print(text)
    fflush(nil)
}
