import CRDT
import Chat
import Membership
import Replication
import Wire

/// The replication of the signing keys and the revocations.
///
/// Every node stores all keys and revocations and changes them without a request to other nodes. A
/// node sends each change that is new to it to every connected member. That member does the same,
/// so that a change also reaches members that the first node cannot reach. On a new connection both
/// sides send a checksum of their table, and a side whose checksum differs sends its whole table.
/// Nodes send nothing while nothing changes.
extension Node {
    /// The time that a node without a signing key waits for other members to make one, in
    /// milliseconds.
    ///
    /// In the order of names, each member waits longer than the member before it by this time.
    private static let keyPatienceMilliseconds: UInt64 = 300

    /// Changes the keys or the revocations; the reply is sent once the change is on disk.
    func change(_ action: Signing.Action, for slot: ReplySlot) -> Reply {
        guard cluster != nil else { return .here(.failed(.notReady), isSettled: true) }
        switch action {
        case .addKey(let id, let secret):
            if !signing.table.keys.contains(where: { $0.id == id }) {
                signing.insert(Signing.Key(id: id, secret: secret, created: nextOperation()))
            }
        case .revoke(let name, let through):
            guard !signing.table.isFull else {
                return .here(.failed(.refused(.tooManyRevocations)), isSettled: true)
            }
            let isDeleted = through == SigningTable.deletionNow
            let now = ports.clock.wallMilliseconds
            revoke(
                name, through: isDeleted ? signing.table.deletion(of: name, now: now) : through)
        }
        signing.wait(slot, storing: action)
        ports.host.turnAgain()
        return .awaited
    }

    private func revoke(_ name: UserID, through: HybridTimestamp) {
        let now = ports.clock.wallMilliseconds
        signing.insert(
            SigningTable.Revocation(name: name, through: through, made: now), now: now)
    }

    /// Applies the changes of sign-ins that the documents of a shard contain.
    ///
    /// Another node may have renewed an ended sign-in until now, because it regarded the sign-in as
    /// open. Therefore the sign-in's access tokens are revoked from now on, and not from the end of
    /// the sign-in, which may be long ago.
    func take(_ news: ShardMachine.TokenNews) {
        let now = HybridTimestamp(milliseconds: ports.clock.wallMilliseconds)
        for signIn in news.ended { revoke(UserID(checked: signIn.text), through: now) }
        if let stored = news.signing { importSigning(stored) }
    }

    /// Imports the keys and revocations that earlier versions store in a shard.
    private func importSigning(_ stored: Signing) {
        for key in stored.keys { signing.insert(key) }
        for revocation in stored.revocations
        where signing.table.revocation(of: revocation.name) == nil {
            let now = ports.clock.wallMilliseconds
            signing.insert(
                SigningTable.Revocation(
                    name: revocation.name, through: revocation.time,
                    made: min(now, revocation.time.milliseconds)),
                now: now)
        }
    }

    /// Sends the changes of keys and revocations to the members, and passes them to the disk.
    func settleSigning() {
        guard signing.hasOutput else { return }
        if signing.hasNews { ports.host.onSigningNews() }
        settingsToKeep += signing.takeSettings()
        let news = signing.takeUnsent()
        var all: [SigningFrame]?
        for connection in links.ascending {
            // A member whose queue is full is sent the whole table once the queue has space.
            let isOwed = !connection.isFull && signing.owed.remove(connection.name) != nil
            if isOwed, all == nil { all = signing.all }
            let frames = isOwed ? all ?? [] : news
            if !frames.allSatisfy({ connection.send(.signing($0)) }) {
                signing.owed.insert(connection.name)
            }
        }
    }

    func onSigningFrame(_ frame: SigningFrame, from connection: PeerConnection) {
        switch frame {
        case .version(let theirs):
            guard theirs != signing.table.version else { return }
            signing.owed.insert(connection.name)
            ports.host.turnAgain()
        case .news(let keys, let revocations):
            let now = ports.clock.wallMilliseconds
            for key in keys { signing.insert(key) }
            for revocation in revocations { signing.insert(revocation, now: now) }
        }
    }

    /// Sends the checksum of this node's table on a new connection.
    func tellSigningVersion(on connection: PeerConnection) {
        signing.owed.remove(connection.name)
        let isSent = connection.send(.signing(.version(signing.table.version)))
        if !isSent { signing.owed.insert(connection.name) }
    }

    /// Corrects decisions made with a wrong clock: revocations recorded while the clock was behind
    /// would end too early, and while it was ahead the node dropped revocations too early.
    func onClockCorrected() {
        signing.renew(now: ports.clock.wallMilliseconds)
        for connection in links.ascending { tellSigningVersion(on: connection) }
    }

    func tickSigning(now: UInt64) {
        if !signing.isImported, let id = shardID(of: DocumentKey.signingPartition),
            let shard = shard(id), shard.assumeIsolated({ $0.isReady })
        {
            signing.isImported = true
            if let stored = within(shard, { $0.signing }) { importSigning(stored) }
        }
        guard clusterTime.refusedOffset == nil else { return }
        signing.sweep(now: now, wall: ports.clock.wallMilliseconds)
    }

    func finishSigning(_ slots: [ReplySlot], _ outcome: Completion) {
        for slot in slots { finish(slot, outcome, nil) }
    }

    /// The reply to a query for the keys and revocations.
    var signingFound: Completion {
        .found(Signing(signing.table), isPartial: false)
    }

    // MARK: The port for apps

    /// Records that users sign in at this node with the cluster's own keys.
    package func expectSigningKeys() { signing.isNeeded = true }

    /// Removes and returns the new changes of the keys and revocations; nil for none.
    package func takeSigningNews() -> SigningNews? {
        cluster == nil ? nil : signing.takeNews()
    }

    /// Whether this node is to make the first key of the cluster.
    ///
    /// It has received no key, although other members with a key would have sent it.
    package var makesFirstKey: Bool {
        guard cluster != nil, signing.table.keys.isEmpty else { return false }
        let rank = membership.ring.sorted().firstIndex(of: me.name) ?? 0
        return ports.clock.milliseconds
            >= joinedAt + Node.keyPatienceMilliseconds * UInt64(rank + 1)
    }
}
