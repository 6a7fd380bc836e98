import Admin
import LineProtocol
import Node

/// The parsing of a session's lines, and the check of the client's right to make a request.
extension Session {
    func answer(_ cut: LineCutter.LineEvent) {
        guard !isTurnedAway else { return }
        switch cut {
        case .line(let line): answer(line)
        case .tooLong: say(signIn.onNonsense(.lineTooLong), to: .nothing(readAt: readAt))
        case .notEnded: say(signIn.onNonsense(.lineNotEnded), to: .nothing(readAt: readAt))
        }
        if memory != nil { share.noteLine(now: clock.microseconds) }
    }

    private func answer(_ line: UnsafeRawBufferPointer) {
        var traits: Verb.Traits?
        do throws(LineError) {
            let request = try Request.parse(line, traits: &traits) { node.mintID() }
            guard let request else { return }
            let asked = RequestTrace(of: request, traits, readAt: readAt)
            if isHeard(request, asked) { answer(signIn.made(request), asked) }
        } catch {
            let asked = RequestTrace(ofWrongLine: traits, readAt: readAt)
            say(signIn.onNonsense(error), to: asked)
        }
    }

    /// Whether the request may be answered; otherwise this method has replied to the client.
    func isHeard(_ request: Request, _ asked: RequestTrace) -> Bool {
        let verdict: SignIn.Verdict
        if case .auth(let secret) = request {
            verdict = signIn.onSecret(secret, of: id)
        } else if signIn.isDone {
            guard let refusal = signIn.user.flatMap({ request.refusal(for: $0) }) else {
                return true
            }
            verdict = .told(refusal)
        } else {
            verdict = signIn.onEarly(request)
        }
        if verdict == .heard { return true }
        say(verdict, to: asked)
        return false
    }

    /// Replies to a line that is not answered as a request.
    private func say(_ verdict: SignIn.Verdict, to asked: RequestTrace) {
        switch verdict {
        case .heard: break
        case .signedIn: append(.done, to: asked)
        case .told(let error): append(.failed(error), to: asked)
        case .turnedAway(let error):
            append(.failed(error), to: asked)
            isTurnedAway = true
            isEnding = true
            hasCutEnd = true
        }
    }
}
