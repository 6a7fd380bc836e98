import Foundation

/// The members that the answers of nodes have in common.
private struct AnswerBody: Decodable {
    struct Failure: Decodable {
        var code: Int
        var reason: String?
        var message: String?
        var now: ExactTime?
    }

    var at: ExactTime?
    var error: Failure?
}

/// The tokens of a sign-in or a renewal.
struct Tokens: Decodable {
    var user: String
    var accessToken: String
    var refreshToken: String
    var expiresIn: Int64
}

extension Response {
    /// Returns the object of the answer; nil if it is another one.
    func object<Object: Decodable>(_ type: Object.Type = Object.self) -> Object? {
        do {
            return try JSONDecoder().decode(Object.self, from: body)
        } catch {
            return nil
        }
    }

    /// What the node says of an error.
    var error: GrapevineError? {
        let body: AnswerBody? = object()
        return body?.error.map {
            GrapevineError(code: $0.code, message: $0.message ?? "", reason: $0.reason ?? "")
        }
    }
}

extension Answer {
    /// Reads the answer to a write; nil stands for none.
    init(_ response: Response?) {
        guard let response else {
            self = .unknown(retryAfter: nil)
            return
        }
        let body: AnswerBody? = response.object()
        self.init(
            status: response.status, error: response.error, at: body?.at, now: body?.error?.now,
            retryAfter: response.retryAfter)
    }
}

// MARK: Requests

extension Core {
    /// How often an operation is sent again after nodes have answered that what it is about is not
    /// there: at pauses of 0.8 s, but for the first ones.
    private static let missesMax = 600
    /// The same where its files are not there.
    private static let fewMissesMax = 10

    /// Milliseconds without a byte after which an upload is given up.
    private static let uploadPatience: Int64 = 60_000

    /// Sends a request with the access token.
    ///
    /// - Parameters:
    ///   - tokens: what the answer has to include.
    ///   - answer: gets nil if no answer came.
    func call(
        _ request: Request, operation: String? = nil, tokens: [String] = [],
        answer: @escaping (inout Step, Response?) throws(StoreError) -> Void
    ) {
        let (node, sentAt, doubts) = (machines.link.node, clock.elapsed, machines.doubts)
        let accessToken = machines.signIn.accessToken
        let call = Call(
            request: request, accessToken: accessToken, operation: operation, tokens: tokens,
            patience: request.file == nil ? machines.link.requestPatience : Self.uploadPatience)
        transport.send(call, to: node) { [weak self] response in
            self?.take(response) { (step: inout Step, response) throws(StoreError) in
                if let response {
                    if response.status == 401 { step.machines.refusedToken = accessToken }
                    step.follow(
                        step.machines.link.requestAnswered(
                            after: step.now - sentAt, now: step.now))
                    if !tokens.isEmpty, step.machines.doubts == doubts {
                        step.noteTokens(of: response, including: tokens)
                    }
                } else {
                    step.follow(step.machines.link.requestUnanswered(node: node, now: step.now))
                }
                try answer(&step, response)
            }
        }
    }

    /// Asks a node anything, to find out whether the network is back.
    func probe(_ node: Int, for stream: Int) {
        let call = Call(request: .probe, patience: machines.link.requestPatience)
        transport.send(call, to: node) { [weak self] response in
            guard response != nil else { return }
            self?.take(nil) { (step: inout Step, _) in
                step.follow(
                    step.machines.link.probeAnswered(
                        node: node, stream: stream, now: step.now))
            }
        }
    }

    /// Sends an operation of the user, after its files.
    func send(_ operation: Operation) {
        if let file = operation.action.files.first(where: { !uploaded.contains($0) }) {
            return upload(file, of: operation)
        }
        call(
            operation.action.request.exact, operation: operation.stamp?.description
        ) { (step: inout Step, response) throws(StoreError) in
            try self.settle(operation, Answer(response), token: response?.token, &step)
        }
    }

    private func upload(_ file: String, of operation: Operation) {
        do throws(StoreError) {
            guard let bytes = try store.file(file) else {
                // A store that was recovered has no files.
                return take(nil) { (step: inout Step, _) throws(StoreError) in
                    try self.settle(operation, .refused(.fileNotFound), &step)
                }
            }
            let request = Request.file(
                file, in: operation.action.conversation ?? "", uploading: bytes)
            call(request) { (step: inout Step, response) throws(StoreError) in
                let answer = Answer(response)
                guard case .accepted = answer else {
                    return try self.settle(operation, answer, &step)
                }
                self.uploaded.insert(file)
                step.effects.append(.send(operation))
            }
        } catch {
            take(nil) { (step: inout Step, _) throws(StoreError) in
                try self.settle(operation, .unknown(retryAfter: nil), &step)
            }
        }
    }

    private func settle(
        _ operation: Operation, _ told: Answer, token: String? = nil, _ step: inout Step
    ) throws(StoreError) {
        var answer = told
        if case .refused = told, let time = try timeOfDeletion(by: operation, &step) {
            answer = .accepted(at: time)
        } else if case .refused(let error) = told,
            error.code == 404 || error.reason == GrapevineError.notParticipant,
            try isMissed(operation, error, &step)
        {
            answer = .unknown(retryAfter: nil)
        }
        switch step.machines.outbox.settle(operation.number, answer, now: step.now) {
        case .accepted(let operation, let at):
            try accept(operation, at: at, token: token, &step)
        case .refused(let operation, let dependents, let error):
            for gone in [operation] + dependents {
                remove(gone, &step)
                log(.error, "refused \(words(gone)) code=\(error.code) “\(error.message)”", &step)
                step.effects.append(.settle(gone.number, .failure(error)))
            }
            step.turn.add(.refusal(Refusal(operation, error), number: operation.number))
            step.tell(.refused(operation, error))
        case .untimely(let operation, let isExpired, let now):
            try restamp(operation, isExpired: isExpired, now: now, &step)
        case .waits:
            if case .unknown = answer {
                step.follow(step.machines.link.leave(now: step.now))
            }
        case .needsToken, nil: break
        }
    }

    /// Returns the time of a deletion of the user's of which nodes have told: one that is repeated
    /// is refused where what it deletes is not there.
    private func timeOfDeletion(
        by operation: Operation, _ step: inout Step
    ) throws(StoreError) -> ExactTime? {
        guard let time = operation.stamp?.time else { return nil }
        switch operation.action {
        case .delete, .deleteForEveryone, .deleteItem:
            let consequence = operation.action.consequence(at: time, user: user)
            return try step.turn.includes(consequence) ? time : nil
        default: return nil
        }
    }

    /// Merges what an accepted operation has changed, in the step that deletes it.
    private func accept(
        _ operation: Operation, at: ExactTime?, token: String?, _ step: inout Step
    ) throws(StoreError) {
        if let consequence = operation.consequence(user: user, answered: at) {
            if let at, operation.action.isTimedByNodes {
                step.machines.time.note(accepted: at, elapsed: step.now)
            }
            step.machines.time.note(shown: at ?? .zero, elapsed: step.now)
            let epoch = operation.epoch
            for target in try step.turn.accept(consequence, of: epoch, token: token) {
                if case .row(let id) = target {
                    try needRow(of: id, &step)
                } else {
                    step.machines.reads.need(target, now: step.now)
                }
            }
        }
        remove(operation, &step)
        log(.info, "synced \(words(operation))", &step)
        step.effects.append(.settle(operation.number, .success(())))
    }

    private func words(_ operation: Operation) -> String {
        let name = "\(operation.action)".prefix { $0 != "(" }
        let message = operation.action.message.map { " message=\($0)" } ?? ""
        let conversation = operation.action.conversation.map { " conversation=\($0)" } ?? ""
        let waited = clock.deviceTime - operation.created
        return "action=\(name)\(message)\(conversation) waited_ms=\(waited)"
    }

    /// Removes an operation that waits no more, with its files.
    private func remove(_ operation: Operation, _ step: inout Step) {
        step.turn.add(.deleteOperation(operation.number))
        for file in operation.action.files { step.turn.add(.file(nil, id: file)) }
        uploaded.subtract(operation.action.files)
        misses[operation.number] = nil
        touch(operation.action, &step)
    }

    /// Takes the stamp of an operation that no node executes any more under it, unless nodes tell
    /// that it was executed, or that something later has overtaken it.
    private func restamp(
        _ operation: Operation, isExpired: Bool, now: ExactTime?, _ step: inout Step
    ) throws(StoreError) {
        guard let time = operation.stamp?.time, let now else { return }
        let isFarAhead = step.machines.time.note(refused: time, now: now, elapsed: step.now)
        if isExpired {
            // What was missed may tell of it yet.
            guard step.machines.link.state == .online else { return }
            let consequence = operation.action.consequence(at: time, user: user)
            if try step.turn.includes(consequence) {
                step.machines.outbox.forget(operation)
                return try accept(operation, at: time, token: nil, &step)
            }
        } else if !isFarAhead {
            return
        }
        step.machines.outbox.takeStamp(of: operation.number)
        var bare = operation
        bare.stamp = nil
        step.turn.add(.operation(bare))
    }

    /// Whether a node may refuse an operation because it lacks what another one has shown or
    /// accepted, or a file that was uploaded to another one, or too long ago.
    ///
    /// Of what is gone, an event tells.
    private func isMissed(
        _ operation: Operation, _ error: GrapevineError, _ step: inout Step
    ) throws(StoreError) -> Bool {
        misses[operation.number, default: 0] += 1
        let count = misses[operation.number, default: 0]
        if error.reason == GrapevineError.fileNotFound.reason {
            uploaded.subtract(operation.action.files)
            return count <= Self.fewMissesMax
        }
        let isKnown = try isSubjectKnown(of: operation.action, &step)
        return isKnown && count <= Self.missesMax
    }

    /// Whether what an action is about was shown or made by this user, and is not known to be gone.
    private func isSubjectKnown(
        of action: Action, _ step: inout Step
    ) throws(StoreError) -> Bool {
        if let item = action.item { return try store.item(item)?.isDeleted == false }
        guard let id = action.conversation, try step.turn.conversation(id).row != nil else {
            return false
        }
        guard let message = action.message else { return true }
        if case .send = action { return true }
        let known = try step.turn.message(message, in: id)
        return known?.content != nil && known?.deleted == nil
    }

    /// Sends a mark of the user.
    func send(_ mark: Marks.Mark) {
        call(mark.request.exact) { (step: inout Step, response) throws(StoreError) in
            let answer = Answer(response)
            step.machines.marks.settle(mark, answer, now: step.now)
            switch answer {
            case .accepted(let at):
                let position = MarkRecord.Position(message: mark.message, sent: mark.sent, at: at)
                let record =
                    mark.kind == .read
                    ? MarkRecord(user: self.user, read: position)
                    : MarkRecord(user: self.user, delivered: position)
                try step.turn.merge(.mark(record, conversation: mark.conversation))
            case .refused(let error) where error.code == 404: return
            case .refused: step.turn.touch(mark.conversation)
            case .unknown, .later, .unauthorized, .untimely: return
            }
            let isReplaced = step.machines.marks[mark.conversation, mark.kind] != nil
            guard !isReplaced else { return }
            step.turn.add(.ownMark(nil, conversation: mark.conversation, kind: mark.kind))
        }
    }

    func send(isTyping: Bool, in conversation: String, stream: String) {
        let path = "/v1/conversations/" + encoded(conversation) + "/typing"
        let request = Request(
            method: .put, path: path, body: ["stream": .text(stream), "on": .flag(isTyping)])
        call(request) { (_: inout Step, _) in }
    }

    /// Milliseconds before the second attempt of a request; each further pause is as much longer.
    private static let requestPause: Int64 = 150

    /// Sends a request of the app with the access token, and again to other nodes until one
    /// answers.
    ///
    /// - Parameters:
    ///   - isSure: whether the answer has to include all that events have told.
    ///   - attempts: the most attempts.
    ///   - done: gets the answer with a status below 400, or the error of the last one.
    func request(
        _ request: Request, isSure: Bool = false, attempts: Int = 6, tries: Int = 1,
        done: @escaping (inout Step, Result<Response, GrapevineError>) throws(StoreError) -> Void
    ) {
        func repeated(_ step: inout Step, after error: GrapevineError) throws(StoreError) {
            guard tries < attempts else { return try done(&step, .failure(error)) }
            later.append(
                (
                    at: step.now + Self.requestPause * Int64(tries),
                    action: { [weak self] in
                        self?.request(
                            request, isSure: isSure, attempts: attempts, tries: tries + 1,
                            done: done)
                    }
                ))
        }
        guard machines.hasAccess(deviceTime: clock.deviceTime) else {
            return take(nil) { (step: inout Step, _) throws(StoreError) in
                try repeated(&step, after: .noAnswer)
            }
        }
        call(request, tokens: isSure ? machines.readTokens : []) {
            (step: inout Step, response) throws(StoreError) in
            guard let response else { return try repeated(&step, after: .noAnswer) }
            guard response.status >= 400 else { return try done(&step, .success(response)) }
            let error =
                response.error ?? GrapevineError(code: response.status, message: "Refused")
            if error.isFinal { return try done(&step, .failure(error)) }
            try repeated(&step, after: error)
        }
    }

    // MARK: Access

    func beginRenewal(_ step: inout Step) {
        guard !step.machines.isRenewing else { return }
        step.machines.isRenewing = true
        let request = step.machines.signIn.renew(as: makeID())
        step.turn.add(.signIn(step.machines.signIn))
        step.effects.append(.renew(request))
    }

    /// Sends a renewal, whose name is stored.
    func renew(_ request: Request) {
        let node = machines.link.node
        let call = Call(request: request, patience: machines.link.requestPatience)
        transport.send(call, to: node) { [weak self] response in
            self?.take(response) { (step: inout Step, response) throws(StoreError) in
                self?.renewed(by: response, from: node, &step)
            }
        }
    }

    private func renewed(by response: Response?, from node: Int, _ step: inout Step) {
        step.machines.isRenewing = false
        if response?.status == 200, let tokens = response?.object(Tokens.self) {
            step.machines.signIn.renewed(
                accessToken: tokens.accessToken, refreshToken: tokens.refreshToken,
                seconds: tokens.expiresIn, now: clock.deviceTime)
            step.machines.refusedToken = nil
            step.turn.add(.signIn(step.machines.signIn))
        } else if let error = response?.error, SignIn.ends(with: error) {
            step.turn.add(.signIn(nil))
            step.follow(step.machines.link.set(.signedOut, now: step.now))
            step.tell(.signedOut)
        } else {
            step.follow(step.machines.link.requestUnanswered(node: node, now: step.now))
        }
    }

    /// Opens the stream that waits for an access token, if there is one now.
    func openPendingStream() {
        guard let (node, stream) = machines.pendingStream,
            machines.hasAccess(deviceTime: clock.deviceTime)
        else { return }
        machines.pendingStream = nil
        let token = machines.token
        if let token { machines.sessionTokens.add(last: token) }
        let path = "/v1/events?heartbeat=\(Link.heartbeatSeconds)"
        let since = token.map { "&since=" + encoded($0) } ?? ""
        let call = Call(
            request: Request(method: .get, path: path + since).exact,
            accessToken: machines.signIn.accessToken, patience: machines.link.requestPatience)
        transport.open(call, at: node, stream: stream) { [weak self] event in
            self?.receive(event, of: stream, since: token)
        }
    }
}
