import CRDT
import Chat
import Replication
import Wire

/// One shard of this node: runs its machine on the node's event loop and decides nothing.
package actor Shard {
    package nonisolated let id: ShardID
    private nonisolated let executor: any SerialExecutor
    private let ports: NodePorts
    private let editWindowMilliseconds: UInt64
    private var horizon: TimeHorizon
    private var machine: ShardMachine

    init(
        _ id: ShardID, of count: UInt16, stored: ReplicaHeader, ownership: Ownership, life: UInt64,
        isFounded: Bool, ports: NodePorts, options: NodeOptions, horizon: TimeHorizon
    ) {
        self.id = id
        self.ports = ports
        editWindowMilliseconds = options.editWindowMilliseconds
        self.horizon = horizon
        executor = ports.executor
        machine = ShardMachine(
            id, of: count, stored: stored, ownership: ownership, life: life,
            now: ports.clock.milliseconds, restRangesMax: options.restRangesMax,
            earlierMessagesMax: options.earlierMessagesMax,
            causePatienceMilliseconds: options.causePatienceMilliseconds)
        if isFounded { machine.found() }
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private var world: ShardWorld {
        ShardWorld(
            milliseconds: ports.clock.milliseconds,
            judge: Judge(horizon.wallTime(ports.clock), editWindowMilliseconds),
            entropy: ports.entropy, reader: ports.store)
    }

    /// What the members' clocks say has changed.
    func setHorizon(_ horizon: TimeHorizon) { self.horizon = horizon }

    // MARK: Requests

    package func submit(
        _ operation: Operation, for slot: ReplySlot, level: AckLevel,
        attempt: PeerRequest.Attempt = .first
    ) -> Result<ShardMachine.Accepted, ShardFailure> {
        do throws(ShardFailure) {
            return .success(
                try machine.submit(
                    operation, for: slot, level: level, attempt: attempt, in: world))
        } catch {
            return .failure(error)
        }
    }

    /// The greatest time of anything in it.
    var greatestTime: HybridTimestamp { machine.greatestTime }

    package func answer(
        _ query: Query, for user: UserID, slot: ReplySlot
    ) -> Result<(findings: Findings, isSettled: Bool), ShardFailure> {
        do throws(ShardFailure) {
            return .success(
                try machine.answer(query, for: user, slot: slot, in: world))
        } catch {
            return .failure(error)
        }
    }

    /// Whether what shows what is here has to wait, as `slot` then does.
    package func showsLater(in slot: ReplySlot) -> Bool {
        machine.showsLater(in: slot, now: ports.clock.milliseconds)
    }

    /// What is on disk.
    package var stored: ReplicaHeader { machine.copy.stored }

    var storedHash: UInt64 { machine.copy.storedHash }

    /// What is here, on disk or on its way there.
    var vector: Vector { machine.copy.current.vector }

    func beginBarrierRound() -> UInt64 {
        machine.copy.beginBarrierRound(now: ports.clock.milliseconds)
    }

    func hasHeard(_ barrierRound: UInt64, isStrict: Bool) -> Bool {
        machine.copy.hasHeard(barrierRound, isStrict: isStrict)
    }

    func endBarrierRound(_ barrierRound: UInt64) { machine.copy.endBarrierRound(barrierRound) }

    /// What it has fetched of others.
    var tally: ReplicaTally { machine.copy.tally }

    package func copies(of vector: Vector) -> Int { machine.copy.copies(of: vector) }

    func isOnAllOwners(_ vector: Vector) -> Bool { machine.copy.isOnAllOwners(vector) }

    /// How many changes on this disk are not known to be on a co-owner's.
    func changesLacked(by peer: NodeName) -> UInt64 {
        machine.copy.isShared(with: peer) ? machine.copy.changesLacked(by: peer) : 0
    }

    /// Whether it belongs here and answers.
    package var isReady: Bool { machine.copy.isReady }

    /// Whether it could answer where no owner can.
    var isServable: Bool { machine.copy.isServable }

    /// Whether it answers whoever asks here.
    var mayAnswer: Bool { machine.copy.mayAnswer }

    /// Whether it is held here and belongs elsewhere.
    var isForeign: Bool { !machine.copy.ownership.isOwnedHere }

    /// Whether the disk is to be checked before the copy is given away.
    var needsCheck: Bool { machine.copy.needsCheck }

    /// The disk holds all that this header counts.
    func onChecked(_ header: ReplicaHeader) { machine.onChecked(header) }

    /// Whether the disk is told to drop it.
    var isDropping: Bool { machine.copy.isDropping }

    func onDropFailed() { machine.onDropFailed() }

    // MARK: Events

    func receive(_ frame: Frame, from peer: NodeName) -> ShardFailure? {
        do throws(ShardFailure) {
            try machine.receive(frame, from: peer, in: world)
            return nil
        } catch {
            return error
        }
    }

    /// A frame cannot be read or cannot be meant.
    ///
    /// - Returns: how long the peer is not asked for what is lacked here, in milliseconds.
    func onBadFrame(from peer: NodeName) -> UInt64 {
        machine.onBadFrame(from: peer, now: ports.clock.milliseconds)
    }

    /// What is rewritten and not on disk yet, in bytes.
    var unsettledBytes: Int { machine.unsettledBytes }

    func endTurn(_ ticket: UInt64) -> ShardMachine.TurnOutput {
        machine.endTurn(ticket, now: ports.clock.milliseconds)
    }

    func serveBatch(to peer: NodeName) -> [(to: NodeName, frame: Frame)] {
        machine.serveBatch(to: peer, reader: ports.store)
        return machine.takeOutbox()
    }

    func onCommitted(_ ticket: UInt64) -> [(ReplySlot, Stored)] {
        machine.onCommitted(ticket, now: ports.clock.milliseconds)
    }

    /// What the last commit changed, for those who are watched; nil where the disk cannot tell.
    func takeNews(for isWatched: (UserID) -> Bool) -> ShardMachine.News? {
        do throws(StoreFailure) {
            return try machine.takeNews(for: isWatched, in: world)
        } catch {
            machine.note(error)
            return nil
        }
    }

    /// Whether something is not told before its causes.
    var isHoldingBack: Bool { machine.isHoldingBack }

    /// What is on disk, as far as those who watch may be told of it.
    var feedPosition: Vector { machine.feedPosition }

    func dropAddressedEvents() { machine.dropAddressedEvents() }

    /// A batch of what may not be known; nil where the disk cannot tell.
    func addressedEvents(
        beyond known: Vector, upTo target: Vector, at place: FeedScan.Place, for user: UserID?,
        to isWatched: (UserID) -> Bool
    ) -> (told: [AddressedEvent], next: FeedScan.Place?)? {
        do throws(StoreFailure) {
            return try machine.addressedEvents(
                beyond: known, upTo: target, at: place, for: user, to: isWatched, in: world)
        } catch {
            machine.note(error)
            return nil
        }
    }

    func concerns(_ user: UserID) -> Bool { machine.concerns(user, in: world) }

    func isPending(concerning user: UserID) -> Bool {
        // A call that does not change the machine copies it.
        !machine.documents.pending.isEmpty && machine.isPending(concerning: user)
    }

    func onCommitFailed() -> [ReplySlot] { machine.onCommitFailed() }

    /// Whether everything in it is on disk.
    var isSettled: Bool { machine.copy.isSettled }

    /// Whether nothing but deletions is merged.
    func setFull(_ isFull: Bool) { machine.isDiskFull = isFull }

    func doubt() { machine.doubt(now: ports.clock.milliseconds) }

    /// Whether acknowledged changes are missing from it.
    var isDoubted: Bool { machine.copy.isDoubted }

    func suspend() { machine.suspend(now: ports.clock.milliseconds) }

    func onSetAside(_ header: ReplicaHeader) -> [ReplySlot] {
        machine.onSetAside(
            header, at: horizon.wallTime(ports.clock), now: ports.clock.milliseconds)
    }

    func onPeerUp(_ peer: NodeName) { machine.onPeerUp(peer) }

    func onPeerDown(_ peer: NodeName) { machine.onPeerDown(peer) }

    var ownership: Ownership { machine.copy.ownership }

    func setOwnership(_ ownership: Ownership) {
        machine.setOwnership(ownership, now: ports.clock.milliseconds)
    }

    /// What is on disk, in eight bytes; nil where the two do not both own the shard.
    func hash(sharedWith peer: NodeName) -> Frame.ShardHash? {
        machine.copy.isShared(with: peer) ? machine.copy.shardHash : nil
    }

    func onLevel(with peer: NodeName, isServing: Bool) {
        machine.onLevel(with: peer, isServing: isServing)
    }

    func onDropped(_ frame: Frame, to peer: NodeName) {
        machine.onDropped(frame, to: peer, now: ports.clock.milliseconds)
    }

    func offer(to peer: NodeName) { machine.offer(to: peer) }

    func onNobodyReached() { machine.onNobodyReached() }

    func onTick() -> [(ReplySlot, Stored)] { machine.onTick(now: ports.clock.milliseconds) }
}
