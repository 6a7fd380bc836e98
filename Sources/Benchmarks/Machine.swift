import Glibc
import LineProtocol
import NetworkIO

/// Where and when figures were taken, and what else the machine did.
struct Machine {
    let began: String
    let cores: Int
    /// As `/proc/loadavg` had it: over one minute, over five, over fifteen.
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

    /// Others that want the machine make every figure worse, and none better.
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

    /// Millions of rounds of SplitMix64 a second, each on the outcome of the one before it.
    static func coreSpeed(nanoseconds: () -> UInt64) -> Double {
        let rounds = 100_000_000
        let began = nanoseconds()
        var state: UInt64 = 1
        for _ in 0..<rounds {
            var random = SeededRandom(seed: state)
            state = random.next()
        }
        let took = nanoseconds() - began
        // Somebody has to ask, or there is nothing to compute.
        precondition(state != 0, "this many rounds from 1 do not end in 0")
        return Double(rounds) * 1e3 / Double(took)
    }
}
