import Glibc
import Simulator

/// Returns the number of runs per task, between two checks of time and findings; runs of whole
/// nodes take a hundred times as long.
private func batchRuns(of world: WorldKind) -> Int { world == .whole ? 8 : 64 }

/// The interval of seeds of whole nodes that run twice, for the same trace.
private let seedsPerComparison: UInt64 = 16

/// Runs the seeds on every core, until all are done or `stop` returns true for the sums so far.
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

/// Seconds of the monotonic clock.
func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func say(_ text: String) {
    print(text)
    fflush(nil)
}
