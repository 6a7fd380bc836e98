import CRDT
import Chat
import Membership
import Replication
import Wire

/// Typing notices: each node sends its clients' notices to every node, for the watchers there.
extension Node {
    /// Handles a client's notice that its user is typing or has stopped.
    ///
    /// - Parameter stream: the user's stream with which the notice ends; nil if it ends with the
    ///   connection of the request.
    package func type(
        _ isOn: Bool, in conversation: ConversationID, by user: UserID, on stream: StreamID?,
        for slot: ReplySlot
    ) -> Result<Reply, OperationFailure> {
        var owner = slot.session
        if let stream {
            guard let session = session(of: stream, watching: user) else {
                return .failure(.noStream)
            }
            owner = session
        }
        let place = Typing.Place(conversation: conversation, user: user)
        guard !isOn || typing.hasCapacity(for: owner, at: place) else {
            return .failure(.tooManyTyping)
        }
        let handling = handle(ParticipantsQuery(conversation), of: user, for: slot)
        var asked = Typing.Asked(
            place: place, word: isOn ? .on : .off, owner: owner, participants: nil)
        switch handling {
        case .awaited:
            typing.asked[slot] = asked
        case .here(let outcome, let isSettled):
            guard let participants: [UserID] = outcome.findings() else { break }
            asked.participants = participants
            typing.asked[slot] = asked
            // The session may be a watcher and is still executing the request, so it gets the event
            // at the end of the turn.
            if isSettled { typing.allowed.append(slot) }
            ports.host.turnAgain()
        }
        return .success(handling)
    }

    /// Ends the typing notice of a user who sends a message or leaves, once the write is accepted.
    func endTyping(by mutation: Mutation, _ handling: Reply, for slot: ReplySlot) {
        guard mutation.action.endsTyping, let conversation = mutation.conversation else { return }
        let place = Typing.Place(conversation: conversation, user: mutation.user)
        guard typing.concerns(place) else { return }
        switch handling {
        case .awaited: break
        case .here(.written, _):
            // An earlier notice that waits for the disk is shown first.
            let isBehind = typing.asked.contains { slot, asked in
                asked.place == place && !typing.allowed.contains(slot)
            }
            if !isBehind { typing.allowed.append(slot) }
        case .here: return
        }
        typing.asked[slot] = Typing.Asked(
            place: place, word: .ended, owner: slot.session, participants: [])
    }

    /// Shows the notices that were allowed in this turn; runs at the end of the turn.
    func settleTyping() {
        guard !typing.allowed.isEmpty else { return }
        let allowed = typing.allowed
        typing.allowed = []
        for slot in allowed { onTypingAllowed(slot) }
    }

    /// Shows the notice that a reply allows, just before that reply is sent.
    func onTypingAllowed(_ slot: ReplySlot, by outcome: Completion? = nil) {
        guard !typing.asked.isEmpty, let asked = typing.asked.removeValue(forKey: slot) else {
            return
        }
        if case .failed? = outcome { return }
        guard let participants = outcome?.findings(as: [UserID].self) ?? asked.participants else {
            return
        }
        typing.dropRequests(before: slot, at: asked.place)
        switch asked.word {
        case .on:
            typing.say(
                asked.place, by: asked.owner, to: participants, now: Typing.Moment(ports.clock))
            broadcast(asked.place, for: Typing.millisecondsMax, to: participants)
        case .off:
            if typing.unsay(asked.place, by: asked.owner) {
                broadcast(asked.place, for: nil, to: participants)
            }
        case .ended:
            _ = typing.endNotices(asked.place)
            broadcast(asked.place, for: nil, to: [], isEnded: true)
        }
    }

    /// Ends the notices of a connection that was closed.
    func endTyping(of session: UInt64) {
        for place in typing.removeSession(session) { broadcast(place, for: nil, to: []) }
    }

    /// - Parameter milliseconds: how long the notice is valid; nil if the typing has ended.
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

    /// Sends a notice whose end is given as a time of the receiving node's clock.
    ///
    /// A notice that is delayed by a network cut has thus ended when it arrives. A node that has
    /// not reported its clock gets the notice after its first report.
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
        // A dropped notice is sent again at the next tick. Without the notice of its end, typing
        // would be shown for seconds.
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

    /// Sends the notices of this node's clients to a member that has just connected.
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
        let until = frame.until.map { deadline($0, of: frame, from: name) }
        if let until, isTakenToBeBehind(by: until, now: now) {
            links[name]?.tellClock(now: now.monotonic, isMistaken: true)
        }
        guard let until, !until.isPast(at: now) else {
            return hideTyping(place, by: name, at: frame.at)
        }
        if typing.show(
            place, by: name, to: frame.participants, until: until, now: now, at: frame.at)
        {
            tellTyping(place, isOn: true, at: frame.at, to: frame.participants)
        }
    }

    /// Returns the moment at which a received notice ends.
    ///
    /// - Parameter until: the end by this node's monotonic clock, as the sender estimated that
    ///   clock. The estimate is too late if this machine was suspended since. Therefore a notice
    ///   also ends `millisecondsMax` after it was given by the wall clocks, which may differ by up
    ///   to `--max-offset`.
    private func deadline(
        _ until: UInt64, of frame: TypingFrame, from name: NodeName
    ) -> Typing.Moment {
        let apart = name == me.name ? 0 : options.maxOffsetMilliseconds
        let (wall, isNever) = (frame.at + Typing.millisecondsMax).addingReportingOverflow(apart)
        return Typing.Moment(monotonic: until, wall: isNever ? .max : wall)
    }

    /// Whether the sender underestimates this node's clock: the notice then ends much earlier by
    /// the monotonic clock than by the wall clocks.
    ///
    /// A network delay of the notice shortens the remaining time by both clocks alike.
    private func isTakenToBeBehind(by until: Typing.Moment, now: Typing.Moment) -> Bool {
        let monotonic = Int64(clamping: until.monotonic) &- Int64(clamping: now.monotonic)
        let wall = Int64(clamping: until.wall) &- Int64(clamping: now.wall)
        return (wall &- monotonic) / 2 > Int64(clamping: options.maxOffsetMilliseconds)
    }

    /// Ends the typing of a user for the notices of all nodes, including this node.
    private func onTypingEnded(_ place: Typing.Place, at time: UInt64, by name: NodeName) {
        if name != me.name, typing.endNotices(place) { broadcast(place, for: nil, to: []) }
        let began = typing.shown[place]?.at
        guard let participants = typing.hide(place) else { return }
        tellTyping(place, isOn: false, at: time, since: began, to: participants)
    }

    private func hideTyping(_ place: Typing.Place, by name: NodeName, at time: UInt64? = nil) {
        let began = typing.shown[place]?.at
        guard let participants = typing.hide(place, by: name) else { return }
        tellTyping(
            place, isOn: false, at: time ?? ports.clock.wallMilliseconds, since: began,
            to: participants)
    }

    private func tellTyping(
        _ place: Typing.Place, isOn: Bool, at time: UInt64, since began: UInt64? = nil,
        to participants: [UserID]
    ) {
        let event = typingEvent(place, isOn: isOn, at: time, since: began ?? time)
        let shown = WatchedEvent(event, on: ports.executor)
        for user in participants where !subscriptions.hides(event, from: user) {
            for session in subscriptions.sessions(of: user)
            where subscriptions[session]?.isAnswered ?? false {
                tellTyping(shown, to: session)
            }
        }
    }

    /// - Parameter began: when the typing began, in milliseconds since 1970.
    private func typingEvent(
        _ place: Typing.Place, isOn: Bool, at time: UInt64, since began: UInt64
    ) -> Event {
        Event(
            .typing(isOn: isOn), in: place.conversation, by: place.user,
            at: HybridTimestamp(milliseconds: time),
            sentAt: HybridTimestamp(milliseconds: began))
    }

    private func tellTyping(_ event: WatchedEvent, to session: UInt64) {
        guard let cluster else { return }
        let token = subscriptions.eventToken(of: session, in: cluster.id, checkpoints.known)
        hand(event, token, to: session)
    }

    /// Sends a new watcher the current typing notices.
    func tellTyping(to session: UInt64, subscriptions user: UserID) {
        for place in typing.places(shownTo: user) {
            let time = typing.shown[place]?.at ?? ports.clock.wallMilliseconds
            let event = typingEvent(place, isOn: true, at: time, since: time)
            guard !subscriptions.hides(event, from: user) else { continue }
            tellTyping(WatchedEvent(event, on: ports.executor), to: session)
        }
    }

    // MARK: Ends

    /// Drops the notices of a node whose connection was lost.
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
