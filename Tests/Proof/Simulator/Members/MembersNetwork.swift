import Membership
import Wire

/// A connection between two machines; each end notices independently that it is over.
struct MembersConnection {
    /// The earliest arrival time of the next frame, in microseconds, by the sender's slot; the
    /// frames of one direction keep their order.
    var arrivals: [Int: UInt64] = [:]
    /// The frames that wait at the sender until a cut heals, by the sender's slot.
    var held: [Int: [(to: Int, event: MembersEvent)]] = [:]
}

struct MembersAttempt {
    let from: Int
    let to: Int
    var isOver = false
    /// Whether a cut swallowed the dial, so that the other machine never sees it.
    var isLost = false
}

/// The network of the world of members: dials, frames, resets and cuts.
extension MembersWorld {
    func isCut(_ from: Int, _ to: Int) -> Bool { cuts.contains([from, to]) }

    func delay() -> UInt64 { random.between(isSlow ? 1_000...50_000 : 100...5_000) }

    /// Cuts the direction `from` → `to`.
    func cut(_ from: Int, _ to: Int) {
        trace("cut \(from)→\(to)")
        cuts.insert([from, to])
    }

    /// Removes all cuts; frames that were held back arrive within 200 ms and the network's delay.
    func healCuts() {
        guard !cuts.isEmpty else { return }
        trace("heal")
        cuts = []
        for link in links.indices {
            for (from, waiting) in links[link].held.sorted(by: { $0.key < $1.key }) {
                links[link].held[from] = nil
                links[link].arrivals[from] = time + random.between(1_000...200_000)
                for (to, event) in waiting { put(event, on: link, from: from, to: to) }
            }
        }
    }

    private func put(_ event: MembersEvent, on link: Int, from: Int, to: Int) {
        let at = max(time + delay(), (links[link].arrivals[from] ?? 0) + 1)
        links[link].arrivals[from] = at
        queue.push((to, event), at: at)
    }

    func send(_ frame: MembersFrame, from node: MembersNode, to peer: Int) {
        guard let end = node.ends[peer] else { return }
        let event = MembersEvent.frame(from: node.slot, link: end.link, frame)
        guard isCut(node.slot, peer) else {
            return put(event, on: end.link, from: node.slot, to: peer)
        }
        links[end.link].held[node.slot, default: []].append((peer, event))
    }

    /// Tells the other end that a connection is over, unless a cut prevents it.
    func close(_ link: Int, from: Int, to: Int) {
        links[link].held[from] = nil
        guard !isCut(from, to) else { return }
        put(.closed(from: from, link: link), on: link, from: from, to: to)
    }

    /// Resets the connection between two machines for both.
    func reset(_ one: MembersNode, _ other: MembersNode) {
        guard let end = one.ends[other.slot], other.ends[one.slot]?.link == end.link else { return }
        trace("reset \(one.slot)–\(other.slot)")
        close(end.link, from: one.slot, to: other.slot)
        close(end.link, from: other.slot, to: one.slot)
    }

    // MARK: Dials

    func dial(from node: MembersNode) {
        guard let core = node.core, !node.hasLeft else { return }
        var slots = core.dialable.compactMap { addresses[$0.gossip] }
        if let contact = node.contact, !slots.contains(contact) { slots.append(contact) }
        for slot in slots where slot != node.slot && node.ends[slot] == nil {
            var dial = node.dials[slot] ?? MembersNode.Dial()
            if let attempt = dial.attempt {
                guard now >= dial.givenUpAt else { continue }
                attempts[attempt].isOver = true
                dial.attempt = nil
            }
            if now >= dial.nextAt { begin(&dial, from: node, to: slot) }
            node.dials[slot] = dial
        }
    }

    private func begin(_ dial: inout MembersNode.Dial, from node: MembersNode, to slot: Int) {
        attempts.append(MembersAttempt(from: node.slot, to: slot))
        dial.attempt = attempts.count - 1
        dial.givenUpAt = now + MembersNode.dialTimeout
        dial.nextAt = now + dial.pauseMilliseconds
        dial.pauseMilliseconds = min(dial.pauseMilliseconds * 2, MembersNode.dialPauseMax)
        let attempt = attempts.count - 1
        guard !isCut(node.slot, slot) else {
            attempts[attempt].isLost = true
            return
        }
        push(.dialled(from: node.slot, attempt: attempt), to: slot, after: delay())
    }

    func onDialled(_ node: MembersNode, from slot: Int, attempt: Int) {
        guard !attempts[attempt].isOver else { return }
        guard !isCut(node.slot, slot) else {
            attempts[attempt].isLost = true
            return
        }
        guard node.isRunning else {
            return push(.refused(by: node.slot, attempt: attempt), to: slot, after: delay())
        }
        // If two machines dial each other, the dial of the machine with the lower slot is used.
        if let own = node.dials[slot]?.attempt {
            guard node.slot > slot || attempts[own].isLost else { return }
            attempts[own].isOver = true
            node.dials[slot]?.attempt = nil
        }
        links.append(MembersConnection())
        let link = links.count - 1
        put(
            .accepted(by: node.slot, attempt: attempt, link: link), on: link, from: node.slot,
            to: slot)
        open(link, of: node, to: slot)
    }

    func onAccepted(_ node: MembersNode, by slot: Int, attempt: Int, link: Int) {
        guard node.isRunning, !attempts[attempt].isOver, node.dials[slot]?.attempt == attempt else {
            return close(link, from: node.slot, to: slot)
        }
        attempts[attempt].isOver = true
        node.dials[slot]?.attempt = nil
        open(link, of: node, to: slot)
    }

    private func open(_ link: Int, of node: MembersNode, to slot: Int) {
        node.ends[slot] = MembersNode.End(link: link, heardAt: now)
        guard let core = node.core else { return }
        send(.hello(core.me.name, core.me.process, core.table), from: node, to: slot)
    }

    func onRefused(_ node: MembersNode, by slot: Int, attempt: Int) {
        guard node.isRunning, !attempts[attempt].isOver else { return }
        attempts[attempt].isOver = true
        node.dials[slot]?.attempt = nil
        coverage.count("refused dial")
        // Another machine may have the name by now, and a connection.
        guard let name = name(at: slot, by: node),
            !node.ends.values.contains(where: { $0.name == name })
        else { return }
        call(node) { $0.onRefused(name, now: now) }
    }

    /// Returns the member that a node expects at an address.
    private func name(at slot: Int, by node: MembersNode) -> NodeName? {
        node.core?.table.entries.first { $0.member.gossip == "host:\(slot)" }?.member.name
    }

    // MARK: Frames

    func onFrame(_ node: MembersNode, from slot: Int, link: Int, _ frame: MembersFrame) {
        guard node.isRunning, node.ends[slot]?.link == link else {
            // No connection exists at this end any more: the sender gets a reset.
            if !isCut(node.slot, slot) {
                push(.closed(from: node.slot, link: link), to: slot, after: delay())
            }
            return
        }
        node.ends[slot]?.heardAt = now
        switch frame {
        case .hello(let name, let process, let table):
            replaceLinks(of: node, to: name, by: slot)
            node.dials[slot] = nil
            call(node) {
                $0.onUp(name, process: process, now: now)
                $0.learn(table, now: now)
            }
        case .beat:
            guard let name = node.ends[slot]?.name else { return }
            call(node) { $0.onHeard(name, now: now) }
        case .gossip(let gossip):
            guard let name = node.ends[slot]?.name else { return }
            call(node) { $0.receive(gossip, from: name, now: now) }
        }
    }

    /// Closes all other connections to a name: a node keeps only the latest one.
    private func replaceLinks(of node: MembersNode, to name: NodeName, by slot: Int) {
        for (other, end) in node.ends.sorted(by: { $0.key < $1.key })
        where other != slot && end.name == name {
            node.ends[other] = nil
            close(end.link, from: node.slot, to: other)
        }
        node.ends[slot]?.name = name
    }

    func onClosed(_ node: MembersNode, from slot: Int, link: Int) {
        guard node.isRunning, let end = node.ends[slot], end.link == link else { return }
        node.ends[slot] = nil
        node.dials[slot] = MembersNode.Dial(nextAt: now + MembersNode.dialPauseMin)
        coverage.count("closed link")
        trace("\(node.slot) closed \(slot) link \(link)")
        // If another machine has taken over the name, only its connection counts.
        guard let name = end.name, !node.ends.values.contains(where: { $0.name == name }) else {
            return
        }
        call(node) { $0.onDown(name, now: now) }
    }

    func giveUpSilentLinks(of node: MembersNode) {
        for (slot, end) in node.ends.sorted(by: { $0.key < $1.key })
        where now - end.heardAt >= MembersNode.linkSilenceMax {
            node.ends[slot] = nil
            coverage.count("link given up")
            close(end.link, from: node.slot, to: slot)
            guard let name = end.name, !node.ends.values.contains(where: { $0.name == name })
            else { continue }
            call(node) { $0.onGivenUp(name, now: now) }
        }
    }
}
