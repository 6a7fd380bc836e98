import Membership
import Replication
import Wire

// MARK: Channels

extension Node {
    /// Handles a new connection to or from another node, and sends a hello if this side dialled.
    package func onChannel(_ channel: any Channel, dialed address: String?) {
        guard repairs.isEmpty else {
            if let address { dialer.onEnd(of: address, now: ports.clock.milliseconds) }
            channel.close()
            return
        }
        // Connections without a hello must not prevent connections to members. Therefore a dialled
        // connection is always accepted, and an inbound connection replaces another one.
        let isFull = greetings.count >= Greeting.greetingsMax
        if address == nil, isFull { _ = evictGreeting(for: channel.source) }
        greetings[channel.id] = Greeting(
            channel: channel, dialed: address, since: ports.clock.milliseconds,
            hasNamedCluster: address != nil && cluster != nil)
        if address != nil { send(.hello(hello), on: channel) }
    }

    /// Evicts an inbound connection without a hello in favour of a new connection from `source`.
    ///
    /// - Returns: false if no connection can be evicted.
    package func evictGreeting(for source: String) -> Bool {
        let inbound = greetings.values.filter { $0.dialed == nil }.map(\.place)
        let now = ports.clock.milliseconds
        guard let evictee = HandshakePlace.evictee(of: inbound, for: source, now: now) else {
            return false
        }
        greetings.removeValue(forKey: evictee)?.channel.close()
        return true
    }

    /// - Parameter isRefused: whether the host answered that nothing listens at the address.
    package func onDialFailed(_ address: String, isRefused: Bool) {
        let now = ports.clock.milliseconds
        dialer.onEnd(of: address, now: now)
        noteJoinUnanswered(address)
        guard isRefused else { return }
        for member in membership.dialable where member.gossip == address {
            if links[member.name] == nil { membership.onRefused(member.name, now: now) }
        }
        followMembership()
    }

    /// Handles a dialled peer that takes long to prove that it has the cluster's key.
    ///
    /// The bytes sent to the peer may be lost, so another connection may be tried.
    package func onDialSlow(_ address: String) { dialer.onSlow(address) }

    /// Handles bytes that arrived on a connection.
    package func onBytes(_ bytes: UnsafeRawBufferPointer, on channel: UInt64) {
        do throws(WireError) {
            if let connection = links[channel: channel] {
                membership.onHeard(connection.name, now: ports.clock.milliseconds)
                connection.append(bytes)
                try checkUnfinishedFrames(of: connection)
                if !connection.isBehind { try receiveFrames(from: connection) }
            } else {
                greetings[channel]?.hasSpoken = true
                greetings[channel]?.cutter.append(bytes)
                try receiveGreetings(on: channel)
            }
        } catch {
            closeUnreadable(channel, because: error)
        }
    }

    /// Handles the whole frames that have arrived from a member, within the time limit of the turn.
    private func receiveFrames(from connection: PeerConnection) throws(WireError) {
        let time = TurnTime(TurnTime.ofMember, on: ports.clock)
        while let payload = try connection.cutter.next() {
            receive(payload, from: connection)
            if time.isOver { return setBehind(connection, isBehind: true) }
        }
        setBehind(connection, isBehind: false)
    }

    private func setBehind(_ connection: PeerConnection, isBehind: Bool) {
        if isBehind { ports.host.turnAgain() }
        guard isBehind != connection.isBehind else { return }
        connection.isBehind = isBehind
        updatePause(of: connection)
    }

    /// Pauses or resumes reading from a member.
    func updatePause(of connection: PeerConnection) {
        connection.channel.setPaused(
            isCongested || connection.isBehind || cutIn.contains(connection.name))
    }

    /// Handles frames that the time limit of the last turn has left over.
    func continueFrames() {
        for connection in links.ascending where connection.isBehind && !isCongested {
            membership.onHeard(connection.name, now: ports.clock.milliseconds)
            do throws(WireError) {
                try receiveFrames(from: connection)
            } catch {
                closeUnreadable(connection.channel.id, because: error)
            }
        }
    }

    private func receive(_ payload: ArraySlice<UInt8>, from connection: PeerConnection) {
        do throws(WireError) {
            receive(try PeerFrame.read(payload), from: connection)
        } catch .unknown {
            // Later versions may have other kinds of frames, which are ignored.
            return
        } catch {
            onUnreadable(payload, from: connection, because: error)
        }
    }

    /// Handles the frames of a connection up to and including its hello.
    private func receiveGreetings(on channel: UInt64) throws(WireError) {
        while greetings[channel]?.unstored == nil,
            let payload = try greetings[channel]?.cutter.next()
        {
            var reader = ByteReader(payload)
            do throws(WireError) {
                onGreeting(try PeerFrame(from: &reader), on: channel)
            } catch .unknown {
                // Later versions may send other kinds of frames before the hello.
                continue
            } catch {
                throw error
            }
        }
        if let connection = links[channel: channel] { return try receiveFrames(from: connection) }
        let kept = greetings[channel]?.cutter.keptCount ?? 0
        guard hasCapacity(forHello: kept) else {
            throw .tooLong(count: UInt64(kept), limit: Greeting.bytesMax)
        }
    }

    /// Whether the node may keep this number of bytes of an incomplete hello.
    private func hasCapacity(forHello bytes: Int) -> Bool {
        guard bytes > Greeting.freeBytes else { return true }
        let all = greetings.values.reduce(0) { $0 + $1.cutter.keptCount }
        return bytes <= Greeting.bytesMax && all <= Greeting.allBytesMax
    }

    private func onGreeting(_ frame: PeerFrame, on channel: UInt64) {
        guard let greeting = greetings[channel] else { return }
        switch frame {
        case .hello(let hello): onHello(hello, greeting)
        case .reject(let reason): onRejected(reason, greeting)
        case .gossip, .replication, .request, .response, .clock, .watch, .typing, .checkpoint,
            .pulse, .unheard, .signing, .pages:
            drop(greeting)
        }
    }

    /// Closes a connection that has received invalid bytes.
    private func closeUnreadable(_ channel: UInt64, because error: WireError) {
        if let connection = links[channel: channel] {
            ports.host.log(
                .warn, "connection closed: unreadable frame: \(error) peer=\(connection.name)")
            connection.channel.close()
        } else {
            noteStranger(error)
        }
        greetings[channel]?.channel.close()
        removeChannel(channel)
    }

    /// Logs connections closed because of invalid bytes: at most one line a second, because anybody
    /// can connect.
    private func noteStranger(_ error: WireError) {
        let now = ports.clock.milliseconds
        strangersSeen += 1
        guard now >= strangersLoggableFrom else { return }
        ports.host.log(
            .info,
            "connections closed: not the bytes of a node: \(error) connections=\(strangersSeen)")
        strangersLoggableFrom = now + 1_000
        strangersSeen = 0
    }

    /// Handles the end of a connection to another node.
    package func onClosed(_ channel: UInt64) {
        // A member that closes its connection is suspected at once. If this node has closed the
        // connection, the failure detector judges the member by its silence.
        if let connection = links[channel: channel] {
            membership.onDown(connection.name, now: ports.clock.milliseconds)
        }
        removeChannel(channel)
        followMembership()
    }

    /// Forgets a connection, and schedules the next dial of its address.
    func removeChannel(_ channel: UInt64) {
        let now = ports.clock.milliseconds
        if let greeting = greetings.removeValue(forKey: channel), let address = greeting.dialed {
            dialer.onEnd(of: address, now: now)
        }
        guard let connection = links[channel: channel] else { return }
        let name = connection.name
        endConnection(connection)
        if let address = membership.table[name]?.member.gossip {
            dialer.onEnd(of: address, now: now)
            if now >= connection.since + PeerConnection.steadyMilliseconds {
                dialer.encourage(address)
            }
        }
        ports.host.log(.info, "disconnected peer=\(name)")
    }

    /// Ends everything that depends on the connection to a member.
    private func endConnection(_ connection: PeerConnection) {
        links.remove(connection)
        noteTraffic(of: connection)
        let name = connection.name
        onLinkLost(connection.channel.id, to: name)
        for shard in shards { within(shard) { $0.onPeerDown(name) } }
        checkpoints.onDisconnected(name)
    }

    private func send(_ frame: PeerFrame, on channel: any Channel) {
        var writer = ByteWriter()
        writer.writeEnvelope { frame.encode(into: &$0) }
        channel.send(writer.bytes)
    }
}

// MARK: Hello

extension Node {
    private var hello: Hello {
        Hello(
            process: process, member: me, cluster: cluster, members: membership.table,
            versions: options.versions)
    }

    private func onHello(_ hello: Hello, _ greeting: Greeting) {
        // Frames of a member behind a simulated cut are ignored.
        guard !isCut(hello.member.name) else { return }
        if let reason = rejection(of: hello, greeting) {
            reject(greeting, because: reason)
            return
        }
        if cluster == nil, let theirs = hello.cluster {
            learn(hello)
            adopt(theirs)
        }
        guard cluster != nil else { return drop(greeting) }
        if let address = greeting.dialed { unanswered.remove(address) }
        if !greeting.hasNamedCluster {
            send(.hello(self.hello), on: greeting.channel)
            greetings[greeting.channel.id]?.hasNamedCluster = true
        }
        // A node without a cluster may refuse this node. After it has joined, it names its cluster
        // in another hello.
        guard hello.cluster != nil else { return }
        learn(hello)
        defer { followMembership() }
        guard !isUnstored(hello.member.name) else { return hold(greeting, hello) }
        link(hello, greeting)
    }

    /// Whether the disk has not stored a member yet.
    ///
    /// A member whose entry the table rejects as outdated counts as stored: it is connected, and so
    /// receives the newer entry.
    private func isUnstored(_ name: NodeName) -> Bool {
        membership.table.present.contains(name) && !storedMembers.contains(name)
    }

    /// Pauses a connection until the disk has stored its member.
    ///
    /// A joining member serves no client before it is connected. A process that ended before its
    /// disk had stored the member has therefore missed no write of the member's clients, and can
    /// show those clients everything that they have seen.
    private func hold(_ greeting: Greeting, _ hello: Hello) {
        greetings[greeting.channel.id]?.unstored = hello
        greeting.channel.setPaused(true)
    }

    /// Records the members on disk, and resumes the connections that waited for their member.
    func noteStored(_ members: Set<NodeName>) {
        storedMembers = members
        for (channel, greeting) in greetings.sorted(by: { $0.key < $1.key }) {
            guard let hello = greeting.unstored, members.contains(hello.member.name) else {
                continue
            }
            greetings[channel]?.unstored = nil
            greeting.channel.setPaused(false)
            onHello(hello, greeting)
            // Bytes that arrived after the hello are read at the end of the turn.
            if let connection = links[channel: channel] { setBehind(connection, isBehind: true) }
        }
    }

    /// Returns the reason to reject a connection to the node that sent the hello; nil to accept it.
    private func rejection(of hello: Hello, _ greeting: Greeting) -> Rejection? {
        let name = hello.member.name
        guard options.versions.common(with: hello.versions) != nil else { return .otherVersion }
        if name == me.name { return hello.process == process ? .oneself : .nameTaken }
        switch (cluster, hello.cluster) {
        case (nil, nil): return .noCluster
        case (let mine?, let theirs?) where mine.id != theirs.id: return .otherCluster
        default: break
        }
        guard let connection = links[name] else { return nil }
        // The old connection may be broken unnoticed; a returning member must not wait for its end.
        guard isCongested || !connection.sync.isQuiet(now: ports.clock.milliseconds) else {
            return nil
        }
        guard connection.process == hello.process else { return .nameTaken }
        // Of two connections, both sides keep the one that the node with the lesser name dialled.
        let isByLesser = isDialedByLesser(greeting, name)
        return isByLesser && !connection.isDialedByLesser ? nil : .connected
    }

    private func isDialedByLesser(_ greeting: Greeting, _ peer: NodeName) -> Bool {
        (greeting.dialed != nil) == (me.name < peer)
    }

    private func reject(_ greeting: Greeting, because reason: Rejection) {
        if greeting.dialed == nil { send(.reject(reason), on: greeting.channel) }
        // The data folder of the side that dialled may belong to another cluster.
        if greeting.dialed != nil, reason == .otherCluster { onOtherCluster(greeting) }
        if reason == .otherVersion { noteOtherVersion(greeting) }
        noteAnswer(reason, from: greeting)
        drop(greeting)
    }

    private func onRejected(_ reason: Rejection, _ greeting: Greeting) {
        switch reason {
        case .nameTaken:
            onNameTaken(greeting)
        case .otherCluster:
            onOtherCluster(greeting)
        case .otherVersion:
            noteOtherVersion(greeting)
        case .oneself, .noCluster, .connected:
            break
        }
        noteAnswer(reason, from: greeting)
        drop(greeting)
    }

    /// Records that an address answered without a connection, because it leads to a connected
    /// member or to this node.
    private func noteAnswer(_ reason: Rejection, from greeting: Greeting) {
        guard let address = greeting.dialed else { return }
        bootstrap?.recordRejection(reason, from: address, now: ports.clock.milliseconds)
        if reason == .oneself || reason == .connected { unanswered.remove(address) }
    }

    /// The time for which a member with this node's name may turn out to be this node's previous
    /// process, in milliseconds since the first rejection.
    ///
    /// A suspended node regards that process as alive until it has checked its connections.
    private static let namePatienceMilliseconds: UInt64 = 2_000
    /// The time in which a resumed node checks its connections, in milliseconds: a few ticks.
    private static let nameLookMilliseconds: UInt64 = 500

    private func onNameTaken(_ greeting: Greeting) {
        // While other nodes reject its name, this node counts as connected, so that it does not
        // start to serve alone.
        reachedAt = ports.clock.milliseconds
        guard let taken = nameTakenAt else {
            nameTakenAt = (reachedAt, nil)
            return
        }
        // The rejection may have been delayed, but cannot be older than its connection.
        guard links.isEmpty, greeting.since >= taken.first + Node.namePatienceMilliseconds
        else { return }
        // A node suspended since then repeats its rejection before it checks its connections.
        guard let again = taken.again else {
            nameTakenAt?.again = reachedAt
            return
        }
        guard greeting.since >= again + Node.nameLookMilliseconds else { return }
        ports.host.end(.unusable("a living member has the name \(me.name)"))
    }

    private func onOtherCluster(_ greeting: Greeting) {
        guard let address = greeting.dialed else { return }
        // An address from the operator of a running node may be wrong; it does not end the process.
        guard unanswered.contains(address), options.join.contains(address) else {
            unanswered.remove(address)
            if strangers.insert(address).inserted {
                ports.host.log(.warn, "another cluster at \(address)")
            }
            return
        }
        ports.host.end(
            .unusable("the data folder is of another cluster than the node at \(address)"))
    }

    func drop(_ greeting: Greeting) {
        greetings[greeting.channel.id] = nil
        if let address = greeting.dialed {
            dialer.onEnd(of: address, now: ports.clock.milliseconds)
        }
        greeting.channel.close()
    }

    private func learn(_ hello: Hello) {
        let now = ports.clock.milliseconds
        membership.learn(hello.members, now: now)
        membership.learn(
            MemberTable([MemberEntry(member: hello.member, state: .alive)]), now: now)
    }

    private func link(_ hello: Hello, _ greeting: Greeting) {
        let name = hello.member.name
        let old = links[name]
        if let old {
            endConnection(old)
            old.channel.close()
        }
        routes.unmute(name)
        let now = ports.clock.milliseconds
        let wire = options.versions.common(with: hello.versions) ?? options.versions.wire.lowerBound
        let cutter = greetings.removeValue(forKey: greeting.channel.id)?.cutter
        links.insert(
            PeerConnection(
                channel: greeting.channel, cutter: cutter ?? EnvelopeCutter(),
                process: hello.process, wire: wire,
                isDialedByLesser: isDialedByLesser(greeting, name),
                sync: PeerSync(to: name, now: now), limits: options.peerLimits,
                restRangesMax: options.restRangesMax))
        for shard in shards { within(shard) { $0.onPeerUp(name, wire: wire) } }
        checkpoints.onConnected(name)
        if let connection = links[name] {
            tellSigningVersion(on: connection)
            tellPages(on: connection)
        }
        membership.onUp(name, process: hello.process, now: now)
        subscriptions.isLost = true
        tickLinks(now: now)
        guard old == nil else { return }
        ports.host.log(.info, "connected peer=\(name) gossip=\(hello.member.gossip)")
    }
}
