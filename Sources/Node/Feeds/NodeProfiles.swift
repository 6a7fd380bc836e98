import CRDT
import Chat
import Replication
import Wire

/// The profile changes that watchers receive: those of users with whom they share a conversation.
extension Node {
    /// Queues a profile change that arrived on a feed.
    func noteProfile(_ addressedEvent: AddressedEvent) {
        guard let user = addressedEvent.change?.view.user else { return }
        if !profiles.add(addressedEvent, of: user) { surveyAll() }
        goOnWithProfiles()
    }

    /// Queues a survey of the profiles that may have changed since the watcher's last update.
    func survey(_ session: UInt64) {
        profiles.add(.survey(session: session))
        goOnWithProfiles()
    }

    private func goOnWithProfiles() {
        subscriptions.isLost = true
        turnAgain()
    }

    private func surveyAll() {
        for session in subscriptions.watchers.keys.sorted()
        where subscriptions[session]?.isAnswered ?? false {
            survey(session)
        }
    }

    /// Continues the running jobs at the end of a turn, and starts queued jobs up to a maximum.
    func runProfiles() {
        let time = TurnTime(TurnTime.ofProfiles, on: ports.clock)
        repeat {
            if let (id, outcome) = profiles.takeAnswered() {
                goOn(id, with: outcome)
            } else if let (job, minimums) = profiles.takeNext() {
                run(job, keeping: minimums)
            } else {
                return
            }
        } while !time.isOver
        goOnWithProfiles()
    }

    private func run(_ job: ProfileJobs.Job, keeping minimums: ProfileJobs.StartPositions?) {
        let user: UserID
        var positions = subscriptions.feeds.map(\.position)
        switch job {
        case .change(let changed):
            // If no other user is watched here, there is no contact to find.
            guard subscriptions.users != [changed] else {
                return announce(changeOf: changed, to: [])
            }
            user = changed
        case .survey(let session):
            guard let watcher = subscriptions[session] else { return }
            profiles.stale.remove(session)
            user = watcher.user
        case .sum(let session):
            guard let watcher = subscriptions[session], watcher.sumsDeadline != nil else { return }
            user = watcher.user
            // Sums of an older state do no harm: the changes since then are sent once more.
            positions = []
        }
        let id = profiles.begin(
            job, for: user, keeping: minimums, at: positions, now: ports.clock.milliseconds)
        let sink = StepSink(
            self, onSeen: { $0.noteSeen($1, for: id) },
            onStep: { $0.onProfileStep(of: id, $1, $2) })
        attach(sink, as: id)
        ask(ContactsQuery(), for: id)
    }

    private func ask(_ query: some Query, for id: UInt64) {
        guard var running = profiles.running[id] else { return }
        running.number += 1
        running.kept = nil
        profiles.running[id] = running
        turnAgain()
        switch handle(query, of: running.user, for: ReplySlot(session: id, number: running.number))
        {
        case .awaited: break
        case .here(let outcome, let isSettled):
            if !running.minimums.positions.isEmpty {
                noteSeen(observations(of: nil), for: id)
            }
            if isSettled {
                profiles.noteAnswered(id, by: outcome)
            } else {
                profiles.running[id]?.kept = outcome
            }
        }
    }

    /// Records the vectors of the replicas that answered.
    ///
    /// If a replica lacks changes that the feeds have sent here, the job has to be repeated,
    /// because the feeds do not repeat these changes.
    private func noteSeen(_ observations: [Observation], for id: UInt64) {
        let now = ports.clock.milliseconds
        for observation in observations {
            profiles.recordVector(
                observation.vector ?? Vector(), of: observation.shard, for: id, now: now)
        }
    }

    private func onProfileStep(of id: UInt64, _ number: UInt64, _ settled: ReplyResult) {
        guard let running = profiles.running[id], running.number == number else { return }
        switch settled {
        case .answered(let outcome, _): profiles.noteAnswered(id, by: outcome)
        case .stored:
            if let kept = running.kept { profiles.noteAnswered(id, by: kept) }
        default: endSurvey(id, isFound: false)
        }
        goOnWithProfiles()
    }

    private func goOn(_ id: UInt64, with outcome: Completion) {
        guard let running = profiles.running[id], case .found(let findings, let isPartial) = outcome
        else { return endSurvey(id, isFound: false) }
        if isPartial { profiles.running[id]?.isPartial = true }
        if let contacts: [UserID] = findings.value() {
            if case .change(let user) = running.job {
                let isPartial = running.isPartial || isPartial
                announce(changeOf: user, to: contacts, isPartial: isPartial)
                return endSurvey(id, isFound: !isPartial)
            }
            profiles.running[id]?.left = ([running.user] + contacts).sorted()[...]
        } else if let found: [DatedProfile] = findings.value() {
            profiles.running[id]?.found += found
        } else {
            return endSurvey(id, isFound: false)
        }
        askForProfiles(for: id)
    }

    /// Queries the next profiles of a survey, or ends the survey.
    private func askForProfiles(for id: UInt64) {
        guard let left = profiles.running[id]?.left else { return }
        let asked = Array(left.prefix(NamesQuery.usersMax))
        profiles.running[id]?.left = left.dropFirst(asked.count)
        guard asked.isEmpty, let running = profiles.running[id] else {
            return ask(ProfilesQuery(among: asked), for: id)
        }
        if !running.isPartial { finish(running) }
        endSurvey(id, isFound: !running.isPartial)
    }

    /// Ends a job, and queues a survey or a change again if some shards could not be queried.
    private func endSurvey(_ id: UInt64, isFound: Bool) {
        detach(id)
        guard let running = profiles.running.removeValue(forKey: id) else { return }
        goOnWithProfiles()
        switch running.job {
        case .sum(let session):
            // The connection may watch another user by now.
            guard subscriptions[session]?.user == running.user else { return }
            subscriptions.updateWatcher(session) { $0.sumsDeadline = nil }
        case .survey(let session) where subscriptions[session] == nil: break
        case .survey, .change:
            if !isFound { profiles.delay(running.job, at: running.minimums) }
        }
        if case .survey(let session) = running.job { tellLevel(to: session) }
    }

    /// Sends a profile change to the watchers of the user and of all users in common conversations.
    private func announce(changeOf user: UserID, to contacts: [UserID], isPartial: Bool = false) {
        guard var told = profiles.takeChange(of: user), let change = told.addressedEvent.change
        else { return }
        observe([told.addressedEvent])
        let event = WatchedEvent(told.addressedEvent.event, on: ports.executor)
        var users = [user] + watched(among: contacts)
        #if PlantedBugs
            if PlantedBug.profileToldToStrangers.isOn { users = subscriptions.users }
        #endif
        for session in users.flatMap(subscriptions.sessions) {
            profiles.stale.insert(session)
            guard let watcher = subscriptions[session], watcher.isAnswered,
                told.told.insert(session).inserted
            else { continue }
            if let replaced = change.replaced {
                subscriptions.updateWatcher(session) {
                    $0.sums?.change(user, from: replaced, to: change.view.sum)
                }
            } else if watcher.sums != nil {
                survey(session)
            }
            hand(event, eventToken(of: session), to: session)
        }
        if isPartial { profiles.keep(told, of: user) }
    }

    /// Returns the contacts that are watched here.
    ///
    /// The search runs over the watched users, because a user may have far more contacts than a
    /// node has watchers.
    ///
    /// - Parameter contacts: the users to search for, ascending.
    private func watched(among contacts: [UserID]) -> [UserID] {
        let watched = subscriptions.users
        guard watched.count < contacts.count else { return contacts }
        var rest = contacts[...]
        return watched.filter { user in
            rest = rest.drop { $0 < user }
            return rest.first == user
        }
    }

    /// Completes a job that has found all profiles it queried.
    private func finish(_ running: ProfileJobs.Running) {
        let sums = ProfileSums(of: running.found.map(\.view))
        switch running.job {
        case .change: return
        case .survey(let session): finishSurvey(of: session, running, sums)
        case .sum(let session):
            guard let watcher = subscriptions[session], watcher.user == running.user,
                watcher.sumsDeadline != nil
            else { return }
            subscriptions.updateWatcher(session) { $0.sums = sums }
        }
    }

    private func finishSurvey(
        of session: UInt64, _ running: ProfileJobs.Running, _ sums: ProfileSums
    ) {
        // The connection may watch another user by now, who has another survey.
        guard let watcher = subscriptions[session], watcher.user == running.user, watcher.isAnswered
        else { return }
        // A change that was sent meanwhile may be newer than the profiles found.
        guard profiles.stale.remove(session) == nil else { return survey(session) }
        let differing = running.found.filter { profile in
            watcher.sums.map { sums.mayDiffer(profile.view.user, from: $0) } ?? true
        }
        subscriptions.updateWatcher(session) { $0.sums = sums }
        let told = differing.map {
            AddressedEvent(ProfileChange($0.view, replacing: nil), at: $0.at)
        }
        observe(told)
        let token = eventToken(of: session)
        for addressedEvent in told {
            hand(WatchedEvent(addressedEvent.event, on: ports.executor), token, to: session)
        }
    }

    private func eventToken(of session: UInt64) -> String? {
        guard let cluster else { return nil }
        return subscriptions.eventToken(of: session, in: cluster.id, checkpoints.known)
    }

    func tickProfiles(now: UInt64) {
        profiles.onTick()
        guard profiles.hasLate,
            now >= profiles.retriedAt + ProfileJobs.pauseMilliseconds
        else { return }
        profiles.retriedAt = now
        profiles.retry()
        runProfiles()
    }
}
