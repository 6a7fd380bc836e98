import Membership
import Node
import Replication
import Wire

/// The law of a running node, which continues whatever a member sends.
enum PeerLaws {
    /// The limit of frames in one input.
    private static let framesMax = 64

    /// Sends the input's frames, each of which follows two bytes with its length.
    static func check(_ input: [UInt8]) {
        let world = FuzzWorld()
        world.start()
        world.link()
        var reader = ByteReader(input)
        for _ in 0..<framesMax {
            guard let length: UInt16 = decoded({ try reader.readFixed() }) else { break }
            let count = min(Int(length), reader.remaining)
            guard let payload = decoded({ try reader.readRaw(count) }) else { break }
            world.receive(Array(payload))
        }
        world.settle()
        precondition(world.holdsShards, "a node keeps its shards, whatever it hears")
    }
}
