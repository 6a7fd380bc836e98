import Wire

/// The trace hashes of a set of seeds, as a file keeps them: a change of the structure, which
/// changes no behavior, leaves each of them equal.
package struct TraceHashes: Equatable, Sendable {
    /// One run: its world and its seed.
    package struct Run: Hashable, Sendable {
        package let world: WorldKind
        package let seed: UInt64

        package init(_ world: WorldKind, _ seed: UInt64) {
            self.world = world
            self.seed = seed
        }
    }

    /// A file that does not contain trace hashes.
    package struct Unreadable: Error {
        package let line: String
    }

    /// The hash of each run.
    private var hashes: [Run: UInt64] = [:]

    package init() {}

    /// Parses a file: one run a line, as `whole 17 9e3779b97f4a7c15`.
    package init(parsing text: String) throws(Unreadable) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, let world = WorldKind(rawValue: String(words[0])),
                let seed = UInt64(words[1]), let hash = UInt64(words[2], radix: 16)
            else { throw Unreadable(line: String(line)) }
            add(hash, of: Run(world, seed))
        }
    }

    package mutating func add(_ hash: UInt64, of run: Run) { hashes[run] = hash }

    package mutating func add(_ other: TraceHashes) {
        hashes.merge(other.hashes) { _, new in new }
    }

    /// The seeds of a world that have a hash, in ascending order.
    package func seeds(of world: WorldKind) -> [UInt64] {
        hashes.keys.filter { $0.world == world }.map(\.seed).sorted()
    }

    /// The seeds of a world of which both have a hash and not the same, or only one has one;
    /// ascending.
    package func differences(from others: TraceHashes, in world: WorldKind) -> [UInt64] {
        Set(seeds(of: world) + others.seeds(of: world)).sorted().filter {
            hashes[Run(world, $0)] != others.hashes[Run(world, $0)]
        }
    }

    /// The file's text, sorted by world and seed.
    package var text: String {
        WorldKind.allCases.map { world in
            seeds(of: world).map { seed in
                let hash = hashes[Run(world, seed), default: 0]
                return "\(world.rawValue) \(seed) \(hexadecimal(hash))\n"
            }.joined()
        }.joined()
    }
}
