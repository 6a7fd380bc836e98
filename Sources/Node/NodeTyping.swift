import CRDT
import Chat
import Membership
import Replication
import Wire

/// Has everybody see who types.
extension Node {
    /// A client says that its user types, or stopped.
    package func type(
        _ isOn: Bool, in conversation: ConversationID, by user: UserID, for slot: ReplySlot
    ) -> Result<Reply, OperationFailure> {
        let place = Typing.Place(conversation: conversation, user: user)
        guard !isOn || typing.hasRoom(for: slot.session, at: place) else {
            return .failure(.tooManyTyping)
        }
        let handling = handle(.participants(conversation), of: user, for: slot)
        var asked = Typing.Asked(place: place, word: isOn ? .on : .off, participants: nil)
        switch handling {
        case .awaited:
            typing.asked[slot] = asked
        case .here(.found(.users(let participants), _), let isSettled):
            asked.participants = participants
            typing.asked[slot] = asked
            // Whoever asks may watch, too, and is in the middle of a line.
            if isSettled { typing.allowed.append(slot) }
            ports.host.turnAgain()
        case .here:
            break
        }
        return .success(handling)
    }

    /// Who sends what they typed, or leaves, types no more: as soon as that is accepted.
    func endTyping(by mutation: Mutation, _ handling: Reply, for slot: ReplySlot) {
        switch mutation.action {
        case .send, .leave: break
        default: return
        }
        guard let conversation = mutation.conversation else { return }
        let place = Typing.Place(conversation: conversation, user: mutation.user)
        guard typing.concerns(place) else { return }
        switch handling {
        case .awaited: break
        case .here(.written, _):
            // What was said before and waits for the disk is shown first.
            let isBehind = typing.asked.contains { slot, asked in
                asked.place == place && !typing.allowed.contains(slot)
            }
            if !isBehind { typing.allowed.append(slot) }
        case .here: return
        }
        typing.asked[slot] = Typing.Asked(place: place, word: .ended, participants: [])
    }

    /// The end of a turn: what was allowed in it is shown.
    func settleTyping() {
        guard !typing.allowed.isEmpty else { return }
        let allowed = typing.allowed
        typing.allowed = []
        for slot in allowed { onTypingAllowed(slot) }
    }

    /// A reply is about to leave: one that lets somebody type has it shown.
    func onTypingAllowed(_ slot: ReplySlot, by outcome: Completion? = nil) {
        guard !typing.asked.isEmpty, let asked = typing.asked.removeValue(forKey: slot) else {
            return
        }
        var participants = asked.participants
        switch outcome {
        case .found(.users(let users), _)?: participants = users
        case .failed?: return
        default: break
        }
        guard let participants else { return }
        switch asked.word {
        case .on:
            typing.say(
                asked.place, by: slot.session, to: participants, now: Typing.Moment(ports.clock))
            broadcast(asked.place, for: Typing.millisecondsMax, to: participants)
        case .off:
            if typing.unsay(asked.place, by: slot.session) {
                broadcast(asked.place, for: nil, to: participants)
            }
        case .ended:
            _ = typing.end(asked.place)
            broadcast(asked.place, for: nil, to: [], isEnded: true)
        }
    }

    /// A connection is closed.
    func endTyping(of session: UInt64) {
        for place in typing.forget(session) { broadcast(place, for: nil, to: []) }
    }

    /// - Parameter milliseconds: for how long it counts; nil where it is over.
    private func broadcast(
        _ place: Typing.Place, for milliseconds: UInt64?, to participants: [UserID],
        isEnded: Bool = false
    ) {
        let now = ports.clock.milliseconds
        for name in links.names {
            send(place, for: milliseconds, participants, to: name, isEnded: isEnded)
        }
        let frame = TypingFrame(
            conversation: place.conversation, user: place.user,
            until: milliseconds.map { now + $0 }, isEnded: isEnded,
            at: typing.said[place]?.at ?? ports.clock.wallMilliseconds,
            participants: participants)
        onTypingFrame(frame, from: me.name)
        ports.host.turnAgain()
    }

    /// Says until when it counts, by the other's clock.
    ///
    /// So what a cut holds up on its way has run out when it arrives. Who has not told its clock is
    /// told with its first word of that.
    private func send(
        _ place: Typing.Place, for milliseconds: UInt64?, _ participants: [UserID],
        to name: NodeName, isEnded: Bool = false
    ) {
        var until: UInt64?
        if let milliseconds {
            let now = ports.clock.milliseconds
            until = links[name]?.deadline(after: milliseconds, now: now)
            guard until != nil else { return }
        }
        let frame = TypingFrame(
            conversation: place.conversation, user: place.user, until: until, isEnded: isEnded,
            at: typing.said[place]?.at ?? ports.clock.wallMilliseconds,
            participants: participants)
        // Where there is no room for it, it is said again: an end that is not heard would be shown
        // for seconds.
        if links[name]?.send(.typing(frame)) == false {
            typing.unsent[name, default: []].insert(place)
        }
    }

    private func sendAgain(now: Typing.Moment) {
        let unsent = typing.unsent
        typing.unsent = [:]
        for name in unsent.keys.sorted() {
            for place in unsent[name, default: []].sorted() {
                let left = typing.millisecondsLeft(at: place, now: now)
                send(place, for: left, typing.said[place]?.participants ?? [], to: name)
            }
        }
    }

    /// What is said here is said to a member that is connected, too.
    func tellTyping(to name: NodeName) {
        let now = Typing.Moment(ports.clock)
        for place in typing.places {
            guard let left = typing.millisecondsLeft(at: place, now: now) else { continue }
            send(place, for: left, typing.said[place]?.participants ?? [], to: name)
        }
    }

    // MARK: Shown

    func onTypingFrame(_ frame: TypingFrame, from name: NodeName) {
        let place = Typing.Place(conversation: frame.conversation, user: frame.user)
        if frame.isEnded { return onTypingEnded(place, at: frame.at, by: name) }
        let now = Typing.Moment(ports.clock)
        guard let until = frame.until.map({ deadline($0, of: frame, from: name) }),
            !until.isPast(at: now)
        else { return hideTyping(place, by: name, at: frame.at) }
        if typing.show(
            place, by: name, to: frame.participants, until: until, now: now, at: frame.at)
        {
            tellTyping(place, isOn: true, at: frame.at, to: frame.participants)
        }
    }

    /// Until when a word counts that came.
    ///
    /// - Parameter until: by this node's monotonic clock, as the other believed it to be: a machine
    ///   that was suspended since then believes it for too long. So what was said
    ///   `millisecondsMax` ago by the wall clocks, which may be `--max-offset` apart, is over, too.
    private func deadline(
        _ until: UInt64, of frame: TypingFrame, from name: NodeName
    ) -> Typing.Moment {
        let apart = name == me.name ? 0 : options.maxOffsetMilliseconds
        let (wall, isNever) = (frame.at + Typing.millisecondsMax).addingReportingOverflow(apart)
        return Typing.Moment(monotonic: until, wall: isNever ? .max : wall)
    }

    /// Nobody's word counts any more, that of clients here included.
    private func onTypingEnded(_ place: Typing.Place, at time: UInt64, by name: NodeName) {
        if name != me.name, typing.end(place) { broadcast(place, for: nil, to: []) }
        guard let participants = typing.hide(place) else { return }
        tellTyping(place, isOn: false, at: time, to: participants)
    }

    private func hideTyping(_ place: Typing.Place, by name: NodeName, at time: UInt64? = nil) {
        guard let participants = typing.hide(place, by: name) else { return }
        tellTyping(
            place, isOn: false, at: time ?? ports.clock.wallMilliseconds, to: participants)
    }

    private func tellTyping(
        _ place: Typing.Place, isOn: Bool, at time: UInt64, to participants: [UserID]
    ) {
        let event = typingEvent(place, isOn: isOn, at: time)
        for user in participants {
            for session in subscriptions.sessions(of: user)
            where subscriptions[session]?.isAnswered ?? false {
                tellTyping(event, to: session)
            }
        }
    }

    private func typingEvent(
        _ place: Typing.Place, isOn: Bool, at time: UInt64
    ) -> WatchedEvent {
        let event = Event(
            .typing(isOn: isOn), in: place.conversation, by: place.user,
            at: HybridTimestamp(milliseconds: time))
        return WatchedEvent(event, on: ports.executor)
    }

    private func tellTyping(_ event: WatchedEvent, to session: UInt64) {
        guard let cluster else { return }
        let token = subscriptions.eventToken(of: session, in: cluster.id, checkpoints.known)
        hand(event, token, to: session)
    }

    /// Who begins to watch is told who types.
    func tellTyping(to session: UInt64, subscriptions user: UserID) {
        for place in typing.places(shownTo: user) {
            let time = typing.shown[place]?.at ?? ports.clock.wallMilliseconds
            tellTyping(typingEvent(place, isOn: true, at: time), to: session)
        }
    }

    // MARK: Ends

    /// A node's word counts for nothing any more.
    func onTypingLost(from name: NodeName) {
        for place in typing.places(of: name) { hideTyping(place, by: name) }
    }

    func tickTyping() {
        let now = Typing.Moment(ports.clock)
        sendAgain(now: now)
        for place in typing.endSaid(now: now) { broadcast(place, for: nil, to: []) }
        for (place, name) in typing.overdue(now: now) { hideTyping(place, by: name) }
    }
}
