import Membership
import Replication
import Wire

extension Node {
    func receive(_ frame: PeerFrame, from connection: PeerConnection) {
        let (name, now) = (connection.name, ports.clock.milliseconds)
        connection.sync.onHeard(now: now)
        var frame = frame
        let unheard = connection.hear(&frame)
        guard unheard.isEmpty else { return onUnheard(unheard, in: frame, from: connection) }
        switch frame {
        case .hello, .reject:
            break
        case .gossip(let gossip, let wall):
            if let rtt = membership.receive(gossip, from: name, now: now) {
                noteClock(of: name, wall: wall, rttMilliseconds: rtt)
            }
            followMembership()
        case .replication(.summary(let theirs)):
            onSummary(theirs, from: connection, now: now)
        case .replication(.hashes(let theirs)):
            onHashes(theirs, from: name)
        case .replication(let frame):
            deliver(frame, from: connection)
        case .request(let request):
            onRequest(request, from: connection)
        case .response(let response):
            onResponse(response, from: name)
        case .unheard(let shard):
            connection.onUnheard(shard)
        case .clock(let theirs):
            if connection.noteClock(theirs, now: now) { tellTyping(to: name) }
        case .watch(let frame):
            onWatchFrame(frame, from: name)
        case .typing(let frame):
            onTypingFrame(frame, from: name)
        case .checkpoint(let frame):
            onCheckpoint(frame, from: name)
        case .signing(let frame):
            onSigningFrame(frame, from: connection)
        case .pages(let said):
            onPages(said, of: name)
        case .pulse(let pulse):
            connection.pulse = (pulse, now)
            onSummary(pulse.summary, from: connection, now: now)
        }
    }

    private func deliver(_ frame: Frame, from connection: PeerConnection) {
        guard let id = frame.shard else { return }
        let name = connection.name
        guard let shard = shard(id) else {
            if let answer = frame.answerWithoutReplica { connection.send(answer) }
            return
        }
        debug(frame, from: name)
        let failure = within(shard) { $0.receive(frame, from: name) }
        observe(shard.assumeIsolated { $0.greatestTime })
        if let failure { onRefused(failure, in: shard, from: connection) }
    }

    /// Returns the hashes of the shards that, in this node's view, both nodes own.
    func hashes(sharedWith name: NodeName) -> [Frame.ShardHash] {
        shards.compactMap { $0.assumeIsolated { $0.hash(sharedWith: name) } }
    }

    private func onSummary(_ theirs: Frame.Summary, from connection: PeerConnection, now: UInt64) {
        let name = connection.name
        let hashes = hashes(sharedWith: name)
        let ours = PeerSync.summary(of: hashes)
        if connection.sync.onSummary(theirs.hash, ours: ours, now: now) {
            for entry in hashes {
                guard let shard = shard(entry.shard) else { continue }
                let isServing = !theirs.unready.contains(entry.shard)
                within(shard) { $0.onCaughtUp(with: name, isServing: isServing) }
            }
        } else {
            connection.send(.hashes(hashes))
        }
    }

    private func onHashes(_ theirs: [Frame.ShardHash], from name: NodeName) {
        for entry in theirs {
            guard let shard = shard(entry.shard) else { continue }
            within(shard) {
                guard let mine = $0.hash(sharedWith: name) else { return }
                if mine.hash == entry.hash {
                    $0.onCaughtUp(with: name, isServing: entry.isServing)
                } else {
                    $0.offer(to: name)
                }
            }
        }
    }
}

// MARK: Time

extension Node {
    /// - Parameter isDeaf: whether this node has not read frames, so that silence proves nothing.
    func tickLinks(now: UInt64, isDeaf: Bool = false) {
        for greeting in greetings.values.sorted(by: { $0.channel.id < $1.channel.id }) {
            if now >= greeting.since + Greeting.patienceMilliseconds {
                drop(greeting)
            } else if let address = greeting.dialed,
                now >= greeting.since + Greeting.slowMilliseconds
            {
                dialer.onSlow(address)
            }
        }
        for connection in links.ascending {
            guard isDeaf || !connection.sync.isSilent(now: now) else {
                ports.host.log(.warn, "member silent peer=\(connection.name)")
                connection.channel.close()
                removeChannel(connection.channel.id)
                membership.onGivenUp(connection.name, now: now)
                continue
            }
            if connection.sync.takesSummary(now: now) {
                connection.send(.pulse(pulse(to: connection, now: now)))
            }
            connection.tellClock(now: now)
        }
    }

    func dial(now: UInt64) {
        guard repairs.isEmpty else { return }
        var wanted = unanswered
        for member in membership.dialable where !isCut(member.name) {
            wanted.insert(member.gossip)
        }
        for name in links.names {
            if let address = membership.table[name]?.member.gossip { wanted.remove(address) }
        }
        for address in dialer.due(wanted, now: now) { ports.host.dial(address) }
    }
}
