import CRDT
import Chat
import Wire

/// The expected content of one document, derived from the changes that it names: a naive model of
/// `Chat`.
///
/// The model has no merge: a document is a function of the set of changes in it, in whatever order
/// they arrived.
struct Model {
    let key: DocumentKey
    /// The changes in the document; their order does not matter.
    let entries: [Ledger.Entry]

    init(of document: Document, in ledger: Ledger) {
        self.init(of: document.key, changedBy: document.changedBy, in: ledger)
    }

    init(of key: DocumentKey, changedBy: Context, in ledger: Ledger) {
        self.key = key
        entries = ledger.entries(of: key).filter { changedBy.contains($0.dot) }
    }

    init(of key: DocumentKey, entries: [Ledger.Entry]) {
        self.key = key
        self.entries = entries
    }

    /// The user who created the document's subject, such as the sender of a message.
    var author: UserID? { header?.mutation.user }

    /// The stamp of the current pin; nil if the message is not pinned.
    var pinnedAt: Stamp? { lastPin?.mutation.action.verb == "pin" ? lastPin?.stamp : nil }

    private var lastPin: Ledger.Entry? {
        entries.filter {
            ["pin", "unpin"].contains($0.mutation.action.verb) && isOfAuthor($0)
        }.max {
            guard let left = $0.pinOrder, let right = $1.pinOrder else { return false }
            return left < right
        }
    }

    /// The winning creation: the earliest.
    var header: Ledger.Entry? {
        entries.filter { $0.mutation.action.isCreation }.min {
            ($0.operation, $0.dot) < ($1.operation, $1.dot)
        }
    }

    /// The dots by which a message was sent; several if that was repeated elsewhere.
    var sendings: [Dot] { entries.filter { $0.mutation.action.isCreation }.map(\.dot) }

    /// The users who have deleted for everyone what they sent.
    var retracters: Set<UserID> {
        Set(entries.filter { $0.mutation.action.verb == "retract" }.map(\.mutation.user))
    }

    /// The users whose texts have to be erased: of a message each sender who has deleted it, of an
    /// item its owner.
    var erasers: Set<UserID> {
        retracters.union(isDeletedByOwner ? [author].compactMap(\.self) : [])
    }

    /// Whether the user whose message is shown has deleted it.
    var isRetracted: Bool { author.map(retracters.contains) ?? false }

    /// Whether a change was made of what the user sent whose message is shown.
    private func isOfAuthor(_ entry: Ledger.Entry) -> Bool {
        let known = entries.filter { $0.mutation.action.isCreation && entry.knew(of: $0) }
        let shown = known.min { ($0.operation, $0.dot) < ($1.operation, $1.dot) }
        return shown?.mutation.user == author
    }

    /// The users who hide the message: those with a hide that no restore undid.
    var hiddenBy: [UserID] {
        let hides = entries.filter { ["hide", "retract"].contains($0.mutation.action.verb) }
        let restores = entries.filter { $0.mutation.action.verb == "restore" }
        return Set(hides.map(\.mutation.user)).filter { user in
            isElement(
                addedBy: hides.filter { $0.mutation.user == user },
                removedBy: restores.filter { $0.mutation.user == user })
        }.sorted()
    }

    /// The users of a conversation: added by a creation or invitation that no leave undid.
    var participants: [UserID] {
        let entries = entriesThatCount
        return Set(entries.flatMap(\.mutation.action.added)).filter { user in
            isElement(
                addedBy: entries.filter { $0.mutation.action.added.contains(user) },
                removedBy: entries.filter { $0.isDeparture(of: user) })
        }.sorted()
    }

    /// The creations of a conversation by the account that created it first, and the changes that
    /// were made where no earlier creation by another account was known.
    private var entriesThatCount: [Ledger.Entry] {
        let creations = entries.filter(\.mutation.action.isCreation)
        guard creations.contains(where: { $0.account != nil }) else { return entries }
        let account = header?.account
        return entries.filter { entry in
            guard !entry.mutation.action.isCreation else { return entry.account == account }
            let known = creations.filter(entry.knew)
            let shown = known.min { ($0.operation, $0.dot) < ($1.operation, $1.dot) }
            return shown?.account == account
        }
    }

    /// Whether any add is live: no later operation of its process concerns the element, no remove
    /// that knew it has a greater time, and no remover's client had named it as possibly still to
    /// come.
    func isElement(addedBy adds: [Ledger.Entry], removedBy removes: [Ledger.Entry]) -> Bool {
        adds.contains { add in
            !(adds + removes).contains { $0.follows(add) }
                && !isTakenAway(add, among: adds, by: removes)
                && !isVoid(add, among: adds, without: removes)
        }
    }

    /// Whether a deletion of a message for its user has no effect, as `isVoid` says.
    func isVoidHide(_ hide: Ledger.Entry) -> Bool {
        let restores = entries.filter {
            $0.mutation.action.verb == "restore" && $0.mutation.user == hide.mutation.user
        }
        return isVoid(hide, among: [hide], without: restores)
    }

    /// Whether a device's add was executed where a remove with a greater time was known: it then
    /// adds nothing, wherever else it was executed.
    func isVoid(
        _ add: Ledger.Entry, among adds: [Ledger.Entry], without removes: [Ledger.Entry]
    ) -> Bool {
        guard add.operation.process.isOfDevice else { return false }
        let executions = adds.filter { $0.operation == add.operation }
        return executions.contains { execution in
            removes.contains {
                execution.knew(of: $0) && add.operation.time < $0.operation.time
            }
        }
    }

    private func isTakenAway(
        _ add: Ledger.Entry, among adds: [Ledger.Entry], by removes: [Ledger.Entry]
    ) -> Bool {
        let executions = adds.filter { $0.operation == add.operation }
        let time = executions.map { tagTime(of: $0, among: adds, without: removes) }.max()
        return removes.contains {
            $0.takesAway(add, executedAs: executions, at: time ?? add.operation.time)
        }
    }

    /// Returns the time of the tag that an add leaves: if the clock of its process was set back, a
    /// live tag of an earlier add of the process keeps its later time.
    private func tagTime(
        of add: Ledger.Entry, among adds: [Ledger.Entry], without removes: [Ledger.Entry]
    ) -> HybridTimestamp {
        let earlier = adds.filter { add.follows($0) && add.knew(of: $0) }
        guard let last = earlier.max(by: { $0.operation.counter < $1.operation.counter }) else {
            return add.operation.time
        }
        let known = removes.filter(add.knew)
        let isOver =
            known.contains { $0.follows(last) } || isTakenAway(last, among: earlier, by: known)
            || isVoid(last, among: earlier, without: known)
        guard !isOver else { return add.operation.time }
        return max(add.operation.time, tagTime(of: last, among: earlier, without: known))
    }

    /// Returns the stamp of the last invitation of `user`; nil if there is none.
    func invitation(of user: UserID) -> Stamp? {
        entriesThatCount.filter { $0.mutation.makes(InviteUser(user)) }
            .compactMap(\.stamp).max()
    }

    /// Who joined and left, the latest first, each operation once, however often it was executed.
    private var latestChanges: [ParticipantChange] {
        let all = entriesThatCount.compactMap { entry -> ParticipantChange? in
            let (stamp, user) = (entry.operation, entry.mutation.user)
            if entry.mutation.isDeparture {
                guard known(to: entry).participants.contains(user),
                    !known(to: entry, with: true).participants.contains(user)
                else { return nil }
                return ParticipantChange(stamp: stamp, kind: .left, user: user, by: user)
            }
            guard let invitation = entry.mutation.action as? InviteUser,
                !known(to: entry).participants.contains(invitation.guest),
                known(to: entry, with: true).participants.contains(invitation.guest)
            else { return nil }
            return ParticipantChange(
                stamp: stamp, kind: .joined, user: invitation.guest, by: user)
        }
        return Array(Set(all).sorted(by: >).prefix(ParticipantChanges.countMax))
    }

    /// The document as the node saw it that made a change, without the change or with it.
    private func known(to entry: Ledger.Entry, with change: Bool = false) -> Model {
        Model(
            of: key, entries: entries.filter { entry.knew(of: $0) || change && $0.dot == entry.dot }
        )
    }

    /// Whether an archiving exists that no unarchiving undid.
    var isArchived: Bool {
        isElement(
            addedBy: entries.filter { $0.mutation.action is ArchiveChat },
            removedBy: entries.filter { $0.mutation.action is UnarchiveChat })
    }

    func greatestMark(of verb: String) -> Mark? {
        entries.filter { $0.mutation.action.verb == verb }.compactMap(\.mark).max()
    }

    /// The union of what the user hid under the last invitation under which they hid anything.
    var hidden: Hidden? {
        let parts = entries.compactMap(\.hidden)
        let last = parts.compactMap(\.invitation).max()
        var vector: Vector?
        for part in parts where part.invitation == last {
            vector = vector?.union(part.vector) ?? part.vector
        }
        return vector.map { Hidden(invitation: last, vector: $0) }
    }

    /// The edits of the winning sending, each once, however often it was executed.
    private var versions: [(stamp: Stamp, text: String)] {
        var found: [(stamp: Stamp, text: String)] = []
        for entry in entries where isOfHeader(entry.base) {
            guard let edit = entry.mutation.action as? EditMessage else {
                continue
            }
            if found.contains(where: { $0.stamp == entry.operation }) { continue }
            found.append((entry.operation, edit.text))
        }
        return found.sorted {
            ($0.stamp.time, FieldText($0.text), $0.stamp)
                < ($1.stamp.time, FieldText($1.text), $1.stamp)
        }
    }

    /// Whether a sending has the same sender and text as the winning one, and so is the same
    /// message.
    private func isOfHeader(_ base: Stamp?) -> Bool {
        guard let header, let base else { return false }
        return entries.contains { sending in
            sending.stamp == base && sending.mutation.action.isCreation
                && sending.mutation.user == header.mutation.user
                && sending.mutation.action.text == header.mutation.action.text
        }
    }

    /// The text after all edits.
    var lastText: String? { versions.last?.text ?? header?.mutation.action.text }

    /// Throws a violation if `document` differs from what its changes should make of it.
    func check(_ document: Document) throws(Violation) {
        switch document.content {
        case .conversation(let conversation): try check(conversation)
        case .message(let message): try check(message)
        case .participantState(let participantState): try check(participantState)
        case .profile(let profile): try check(profile)
        case .item(let item): try check(item)
        case .credentials(let credentials): try check(credentials)
        case .signing(let signing): try check(signing)
        case .file(let file): try check(file)
        case .part(let part): try check(part)
        case .blocks(let blocks): try check(blocks)
        case .device, .unknown: throw violation(.claims, "is of no kind that was ever written")
        }
    }

    private func check(_ conversation: Conversation) throws(Violation) {
        guard let header, let create = header.mutation.action as? CreateConversation else {
            throw violation(.claims, "was never created")
        }
        guard conversation.header.created == header.stamp,
            conversation.header.title == create.title,
            conversation.header.creator == header.mutation.user
        else { throw violation(.claims, "has the head \(conversation.header)") }
        guard conversation.participants.elements == participants else {
            throw violation(.claims, "has the users \(conversation.participants.elements)")
        }
        for user in participants where conversation.invitation(of: user) != invitation(of: user) {
            throw violation(.claims, "has another invitation of \(user)")
        }
        guard Array(conversation.changes.latest) == latestChanges else {
            throw violation(.claims, "has the changes \(Array(conversation.changes.latest))")
        }
    }

    private func check(_ participantState: ParticipantState) throws(Violation) {
        guard participantState.isArchived == isArchived else {
            throw violation(.kept, "is archived: \(participantState.isArchived)")
        }
        guard participantState.read?.value == greatestMark(of: "read"),
            participantState.delivered?.value == greatestMark(of: "deliver")
        else { throw violation(.claims, "has the marks \(participantState)") }
        // The time and the operation of a hide are for watchers only, and are not compared.
        guard participantState.hidden?.invitation == hidden?.invitation,
            participantState.hidden?.vector == hidden?.vector
        else {
            throw violation(.claims, "hides \(String(describing: participantState.hidden))")
        }
    }

    private func check(_ message: Message) throws(Violation) {
        guard let header, let send = header.mutation.action as? SendMessage else {
            throw violation(.claims, "was never sent")
        }
        guard message.isRetracted == isRetracted else {
            throw violation(.deleted, "is deleted for everyone: \(message.isRetracted)")
        }
        let hidden = hiddenBy
        if let user = hidden.first(where: { !message.deletedBy.contains($0) }) {
            throw violation(.deleted, "shows again to \(user), who deleted it")
        }
        if let user = message.deletedBy.elements.first(where: { !hidden.contains($0) }) {
            throw violation(.kept, "is hidden from \(user), who restored it")
        }
        guard message.header.sent == header.stamp, message.header.sender == header.mutation.user
        else { throw violation(.claims, "has the head \(message.header)") }
        guard !isRetracted else {
            guard message.header.text.isEmpty, message.versions.isEmpty, message.pin == nil else {
                throw violation(.deleted, "is deleted for everyone and has a text or a pin")
            }
            return
        }
        guard message.header.text == send.text else {
            throw violation(.claims, "has the text '\(message.header.text)'")
        }
        try checkVersionsAndPin(of: message)
    }

    private func checkVersionsAndPin(of message: Message) throws(Violation) {
        let stamps = message.versions.map(\.stamp)
        let names = stamps.map { "\($0.process) \($0.counter)" }
        guard Set(names).count == names.count else {
            throw violation(.oneChange, "has one edit twice: \(message.versions)")
        }
        let versions = versions
        if let lost = versions.first(where: { !stamps.contains($0.stamp) }) {
            throw violation(.judgedOnce, "lacks the edit '\(lost.text)', which was accepted")
        }
        let isSame =
            message.versions.count == versions.count
            && zip(message.versions, versions).allSatisfy {
                $0.stamp == $1.stamp && $0.text == $1.text
            }
        guard isSame else {
            throw violation(
                .claims, "has the edits \(message.versions.map(\.text)), not \(versions)")
        }
        try checkNotOlder(versions.last?.stamp, than: "edit") { isOfHeader($0.base) }
        let last = lastPin
        try checkNotOlder(last?.operation, than: "pin", "unpin", where: isOfAuthor)
        guard message.pin?.stamp == last?.stamp,
            message.pin?.value.by == (pinnedAt == nil ? nil : last?.mutation.user)
        else { throw violation(.claims, "has the pin \(String(describing: message.pin))") }
    }

    /// Checks that the shown write is not older than a later acknowledged one of its process.
    private func checkNotOlder(
        _ shown: Stamp?, than verbs: String..., where counts: (Ledger.Entry) -> Bool = { _ in true }
    ) throws(Violation) {
        guard let shown, !entries.contains(where: { $0.operation == shown && $0.isAhead }) else {
            return
        }
        let later = entries.first {
            verbs.contains($0.mutation.action.verb) && $0.acknowledgedOn > 0 && counts($0)
                && $0.operation.process == shown.process && $0.operation.counter > shown.counter
                && $0.operation < shown
        }
        guard let later else { return }
        throw violation(.kept, "shows what its process asked for before \(later.words)")
    }

    func violation(_ invariant: Invariant, _ what: String) -> Violation {
        let changes = entries.map { "\n    " + $0.words }.joined()
        return Violation(
            invariant: invariant,
            explanation: "\(key.partition)/\(key.id) \(what), though these changes are in it:"
                + changes)
    }
}

extension Ledger.Entry {
    /// What decides which of several pins and unpinnings holds; nil for a change that left none.
    var pinOrder: (HybridTimestamp, isPin: Int, UserID, Stamp)? {
        stamp.map {
            ($0.time, isPin: mutation.action.verb == "pin" ? 1 : 0, mutation.user, $0)
        }
    }

    /// The account by which a conversation was created; nil for none.
    var account: UserID? {
        guard let create = mutation.action as? CreateConversation, create.isByAccount
        else { return nil }
        return mutation.user
    }

    func isDeparture(of user: UserID) -> Bool {
        mutation.isDeparture && mutation.user == user
    }
}

extension DocumentAction {
    var isCreation: Bool {
        self is CreateConversation || self is SendMessage || self is AddItem
    }
}
