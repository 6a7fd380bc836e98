import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The actor of one shard of this node.
///
/// The actor runs the shard's state machine on the node's event loop, and decides nothing itself.
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

    /// Sets how far ahead a time may be and still be accepted, after a comparison of clocks.
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

    /// The greatest time that the shard's clock has observed.
    var greatestTime: HybridTimestamp { machine.greatestTime }

    package func answer(
        _ query: AnyQuery, for user: UserID, slot: ReplySlot
    ) -> Result<(findings: AnyFindings, isSettled: Bool), ShardFailure> {
        do throws(ShardFailure) {
            return .success(
                try machine.answer(query, for: user, slot: slot, in: world))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the users whom a user of the shard has blocked.
    func blocks(of user: UserID) -> Result<Blocks, ShardFailure> {
        do throws(ShardFailure) {
            return .success(try machine.blocks(of: user, in: world))
        } catch {
            return .failure(error)
        }
    }

    /// Records that a user of the shard has blocked another user, which the index did not contain.
    func noteBlocks() { machine.noteBlocks() }

    /// Begins to read the shard's part of a user's list in slices.
    ///
    /// - Returns: nil if the query is answered as a whole, by `answer`.
    func beginReading(_ query: AnyQuery, of user: UserID) -> Result<ListReading?, ShardFailure> {
        do throws(ShardFailure) {
            return .success(try machine.beginReading(query, of: user, in: world))
        } catch {
            return .failure(error)
        }
    }

    /// Reads a slice of a list.
    ///
    /// - Returns: the unfinished reading, or the shard's whole part; in the latter case, `slot`
    ///   waits if the part is not on disk yet.
    func read(
        _ reading: ListReading, until time: TurnTime, for slot: ReplySlot
    ) -> Result<ListSlice, ShardFailure> {
        do throws(ShardFailure) {
            var reading = reading
            guard try machine.read(&reading, until: time, for: slot, in: world) else {
                return .success(.unfinished(reading))
            }
            let isSettled = !showsLater(in: slot)
            return .success(.finished(reading.findings, isSettled: isSettled))
        } catch {
            machine.endReading(for: slot)
            return .failure(error)
        }
    }

    /// Ends the reading of a list for which no reply waits any more.
    func endReading(for slot: ReplySlot) { machine.endReading(for: slot) }

    /// Returns the registered devices of the users who belong to this shard.
    package func registeredDevices()
        -> Result<[RegisteredDevice], ShardFailure>
    {
        do throws(ShardFailure) {
            return .success(try machine.registeredDevices(in: world))
        } catch {
            return .failure(error)
        }
    }

    /// Returns files of the shard that wait to be purged or closed.
    ///
    /// - Parameter age: how long a file may exist without being sent in a message, in milliseconds.
    package func dueFiles(limit: Int, age: UInt64) -> Result<[DueFile], ShardFailure> {
        do throws(ShardFailure) {
            return .success(
                try machine.dueFiles(limit: limit, unsentBy: deadline(of: age), in: world))
        } catch {
            return .failure(error)
        }
    }

    private func deadline(of age: UInt64) -> HybridTimestamp {
        let now = world.judge.wallMilliseconds
        return HybridTimestamp(milliseconds: now - min(now, age))
    }

    var hasFilesToTend: Bool {
        // The clock is read first: a call between the load of the machine and its use copies it.
        let now = ports.clock.milliseconds
        return machine.hasFilesToTend(now: now)
    }

    /// Purges parts of closed files, and closes files that were not sent within `age` milliseconds
    /// or by users who have deleted their accounts.
    ///
    /// - Returns: the number of documents that were changed, at most about `limit`.
    func tendFiles(
        limit: Int, age: UInt64, isFirst: Bool, isEverybodyHeard: Bool, signing: SigningTable
    ) -> Int {
        let duty = ShardMachine.FileDuty(
            limit: limit, isFirst: isFirst, isEverybodyHeard: isEverybodyHeard,
            deadline: deadline(of: age), signing: signing)
        do throws(ShardFailure) {
            return try machine.tendFiles(duty, in: world)
        } catch {
            // A damaged record is set aside at the end of the turn, and the disk is searched again
            // later.
            return 0
        }
    }

    /// Whether all owners of the shard, even dead ones, are known to be in sync with this replica.
    package var isCaughtUpWithAllOwners: Bool { machine.replica.isCaughtUpWithAllOwners }

    /// The signing keys and revocations that earlier versions store in this shard; nil for none.
    var signing: Signing? {
        do throws(ShardFailure) {
            return try machine.find(.signing, in: world)?.document.signing
        } catch {
            // The failed read has recorded the damage, which is repaired later.
            return nil
        }
    }

    /// Returns whether a reply with this replica's state has to wait for the disk; `slot` then
    /// waits.
    package func showsLater(in slot: ReplySlot) -> Bool {
        machine.showsLater(in: slot, now: ports.clock.milliseconds)
    }

    /// The header on disk.
    package var stored: ReplicaHeader { machine.replica.stored }

    var storedHash: UInt64 { machine.replica.storedHash }

    /// The vector of the replica, including changes that are not on disk yet.
    var vector: Vector { machine.replica.current.vector }

    func beginBarrierRound() -> UInt64 {
        machine.replica.beginBarrierRound(now: ports.clock.milliseconds)
    }

    func hasHeard(_ barrierRound: UInt64, isStrict: Bool) -> Bool {
        machine.replica.hasHeard(barrierRound, isStrict: isStrict)
    }

    func endBarrierRound(_ barrierRound: UInt64) { machine.replica.endBarrierRound(barrierRound) }

    /// The counters of the replica's pulls and merges.
    var tally: ReplicaTally { machine.replica.tally }

    package func copies(of vector: Vector) -> Int { machine.replica.copies(of: vector) }

    func awaitsMajority(_ vector: Vector) -> Bool { machine.replica.awaitsMajority(vector) }

    func check(_ vector: Vector, isAgain: Bool) {
        machine.replica.check(vector, isAgain: isAgain)
    }

    func isOnAllOwners(_ vector: Vector) -> Bool { machine.replica.isOnAllOwners(vector) }

    /// Returns the number of changes on this disk that are not known to be on a co-owner's disk.
    func changesLacked(by peer: NodeName) -> UInt64 {
        machine.replica.isShared(with: peer) ? machine.replica.changesLacked(by: peer) : 0
    }

    /// Whether this node owns the shard and answers for it.
    package var isReady: Bool { machine.replica.isReady }

    /// Whether the replica may answer if no owner can, since no newer replica is known.
    var isServable: Bool { machine.replica.isServable }

    /// Whether the replica answers requests that reach this node.
    var mayAnswer: Bool { machine.replica.mayAnswer }

    /// Whether this node has a replica of the shard and does not own the shard.
    var isForeign: Bool { !machine.replica.ownership.isOwnedHere }

    /// Whether the disk has to be checked before the replica is handed over.
    var needsCheck: Bool { machine.replica.needsCheck }

    /// Records that a check has found all documents that this header counts on disk.
    func onChecked(_ header: ReplicaHeader) { machine.onChecked(header) }

    /// Whether the storage is dropping the replica.
    var isDropping: Bool { machine.replica.isDropping }

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

    /// Handles a frame that cannot be decoded or is invalid.
    ///
    /// - Returns: how long this node sends no pull to the peer, in milliseconds.
    func onBadFrame(from peer: NodeName) -> UInt64 {
        machine.onBadFrame(from: peer, now: ports.clock.milliseconds)
    }

    /// The size of rewritten documents that are not on disk yet, in bytes.
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

    /// Removes and returns the events of committed changes for watched users; nil if a read fails.
    func takeNews(for isWatched: (UserID) -> Bool) -> ShardMachine.News? {
        do throws(StoreFailure) {
            return try machine.takeNews(for: isWatched, in: world)
        } catch {
            machine.recordDamage(error)
            return nil
        }
    }

    /// Whether committed changes wait for their causes.
    var isHoldingBack: Bool { machine.isHoldingBack }

    /// The position of the shard's live feeds.
    var feedPosition: Vector { machine.feedPosition }

    func dropAddressedEvents() { machine.dropAddressedEvents() }

    /// Returns a batch of the events that a receiver may lack; nil if the disk cannot be read.
    func addressedEvents(
        beyond known: Vector, skipping skipped: Vector, upTo target: Vector,
        at place: FeedScan.Place, for user: UserID?, to isWatched: (UserID) -> Bool
    ) -> FeedBatch? {
        do throws(StoreFailure) {
            return try machine.addressedEvents(
                beyond: known, skipping: skipped, upTo: target, at: place, for: user,
                to: isWatched, in: world)
        } catch {
            machine.recordDamage(error)
            return nil
        }
    }

    func concerns(_ user: UserID) -> Bool { machine.concerns(user, in: world) }

    func isPending(concerning user: UserID) -> Bool {
        // The first condition avoids most calls, since a non-mutating call copies the machine.
        !machine.documents.pending.isEmpty && machine.isPending(concerning: user)
    }

    func onCommitFailed() -> [ReplySlot] {
        machine.onCommitFailed(now: ports.clock.milliseconds)
    }

    /// Whether all changes of the replica are on disk.
    var isSettled: Bool { machine.replica.isSettled }

    /// Sets whether the disk is full, so that only deletions are merged.
    func setFull(_ isFull: Bool) { machine.isDiskFull = isFull }

    func doubt() { machine.doubt(now: ports.clock.milliseconds) }

    /// Whether the replica lacks acknowledged changes.
    var isDoubted: Bool { machine.replica.isDoubted }

    func suspend() { machine.suspend(now: ports.clock.milliseconds) }

    func onSetAside(_ header: ReplicaHeader) -> [ReplySlot] {
        machine.onSetAside(
            header, at: horizon.wallTime(ports.clock), now: ports.clock.milliseconds)
    }

    func onPeerUp(_ peer: NodeName, wire: UInt8) { machine.onPeerUp(peer, wire: wire) }

    func onPeerDown(_ peer: NodeName) { machine.onPeerDown(peer) }

    var ownership: Ownership { machine.replica.ownership }

    func setOwnership(_ ownership: Ownership) {
        machine.setOwnership(ownership, now: ports.clock.milliseconds)
    }

    /// Returns the hash of the state on disk; nil if the peer does not own the shard together with
    /// this node.
    func hash(sharedWith peer: NodeName) -> Frame.ShardHash? {
        machine.replica.isShared(with: peer) ? machine.replica.shardHash : nil
    }

    func onCaughtUp(with peer: NodeName, isServing: Bool) {
        machine.onCaughtUp(with: peer, isServing: isServing)
    }

    func onDropped(_ frame: Frame, to peer: NodeName) {
        machine.onDropped(frame, to: peer, now: ports.clock.milliseconds)
    }

    func offer(to peer: NodeName) { machine.offer(to: peer) }

    func onNobodyReached() { machine.onNobodyReached() }

    func onTick() -> [(ReplySlot, Stored)] { machine.onTick(now: ports.clock.milliseconds) }
}
