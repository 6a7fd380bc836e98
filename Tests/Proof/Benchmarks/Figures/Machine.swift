import Glibc
import LineProtocol
import NetworkIO

/// The place and time of a run's measurements, with the load of the machine.
struct Machine {
    let began: String
    let cores: Int
    /// The averages of `/proc/loadavg` over one, five and fifteen minutes.
    let loadBefore: [Double]
    var loadAfter: [Double] = []

    init() throws(BenchError) {
        began = LineTime.text(Int64(EventLoop.wallMilliseconds()))
        cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        loadBefore = try Machine.load()
    }

    static func load() throws(BenchError) -> [Double] {
        String(decoding: try Files.read("/proc/loadavg"), as: UTF8.self).split(separator: " ")
            .prefix(3).compactMap { Double($0) }
    }

    /// Other load on the machine can make figures only worse.
    var text: String {
        let before = loadBefore.first.map { decimal($0, digits: 2) } ?? "unknown"
        return "\(cores) cores, load average \(before) at the start"
            + ((loadBefore.first ?? 0) > 0.5 ? ": something else was running, too" : "")
    }

    var json: JSON {
        .object([
            .init("began", .text(began)), .init("cores", .whole(cores)),
            .init("load_before", .list(loadBefore.map(JSON.number))),
            .init("load_after", .list(loadAfter.map(JSON.number))),
        ])
    }

    /// Returns millions of SplitMix64 rounds per second, each on the result of the one before.
    static func coreSpeed(nanoseconds: () -> UInt64) -> Double {
        let rounds = 100_000_000
        let began = nanoseconds()
        var state: UInt64 = 1
        for _ in 0..<rounds {
            var random = SeededRandom(seed: state)
            state = random.next()
        }
        let took = nanoseconds() - began
        // The result must be used, or the compiler removes the computation.
        precondition(state != 0, "this many rounds from 1 do not end in 0")
        return Double(rounds) * 1e3 / Double(took)
    }
}
