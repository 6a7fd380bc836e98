import Replication
import Wire

extension ShardMachine {
    /// Marks the replica complete, because this node founds the cluster and the shard is empty.
    package mutating func found() { replica.found() }

    package mutating func setOwnership(_ ownership: Ownership, now: UInt64) {
        replica.setOwnership(ownership, now: now)
    }

    /// Records that the storage is about to drop the replica, since every owner has all of it.
    package mutating func beginDrop() { replica.beginDrop() }

    package mutating func onDropFailed() { replica.onDropFailed() }

    package mutating func onPeerUp(_ peer: NodeName, wire: UInt8 = Frame.wireVersion) {
        replica.onPeerUp(peer, wire: wire)
    }

    package mutating func onPeerDown(_ peer: NodeName) { replica.onPeerDown(peer) }

    /// Records that the peer's replica is in sync with this replica's state on disk.
    package mutating func onCaughtUp(with peer: NodeName, isServing: Bool) {
        replica.onCaughtUp(with: peer, isServing: isServing)
    }

    /// Records that a frame of this shard was dropped, because too many frames waited for the peer.
    package mutating func onDropped(_ frame: Frame, to peer: NodeName, now: UInt64) {
        replica.onDropped(frame, to: peer, now: now)
    }

    package mutating func offer(to peer: NodeName) { replica.offer(to: peer) }

    package mutating func onNobodyReached() { replica.onNobodyReached() }

    package mutating func onTick(now: UInt64) -> [(ReplySlot, Stored)] { replica.onTick(now: now) }

    package mutating func takeSettled(now: UInt64) -> [(ReplySlot, Stored)] {
        replica.takeSettled(now: now)
    }

    package mutating func takeDivergences() -> [NodeName] { replica.takeDivergences() }
}
