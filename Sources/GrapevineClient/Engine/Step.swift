/// The machines of a signed-in user's client.
struct Machines {
    var outbox: Outbox
    var link: Link
    var reads = Reads()
    var marks: Marks
    var typing = Typing()
    var time: ServerTime
    var signIn: SignIn
    /// An access token that a node has refused.
    var refusedToken: String?
    var isRenewing = false
    /// The stream that is to be opened as soon as there is an access token.
    var pendingStream: (node: Int, stream: Int)?
    /// The token of the last event; nil if the state is to be read anew.
    var token: String?
    var sessionTokens = SessionTokens()
    /// How often the cluster did not know the token: answers from before do not count.
    var doubts = 0
    /// Whether the lists have been read wholly since the token was last nil.
    var isLoaded = false
    /// The name of the node's event stream, for typing.
    var streamName: String?

    /// What sure answers have to include.
    var readTokens: [String] { [token].compactMap(\.self) + sessionTokens.texts }

    /// Whether requests can be sent with the access token.
    func hasAccess(deviceTime: Int64) -> Bool {
        signIn.isUsable(refused: refusedToken, now: deviceTime)
    }
}

/// One step of the client: the changes of its machines and its store, which are stored as one, and
/// the effects that follow when they are stored.
struct Step {
    /// What is done after the changes of a step are stored.
    enum Effect {
        case link(Link.Directive)
        case send(Operation)
        case ask(Reads.Ask)
        case mark(Marks.Mark)
        case type(Bool, conversation: String, stream: String)
        case renew(Request)
        case settle(UInt64, Result<Void, GrapevineError>)
        case call(() -> Void)
        case tell(News)
        case log(LogEntry)
    }

    var machines: Machines
    var turn: Turn
    var effects: [Effect] = []
    /// Milliseconds of the monotonic clock.
    let now: Int64

    mutating func follow(_ directives: [Link.Directive]) {
        effects += directives.map(Effect.link)
    }

    /// Notes the token of an answer that had to include others, or that nodes do not know one.
    mutating func noteTokens(of response: Response, including tokens: [String]) {
        let known = machines.sessionTokens
        if response.status == 200, let token = response.token {
            machines.sessionTokens.note(answer: token, including: tokens)
        } else if response.error?.isOfToken == true {
            machines.sessionTokens = SessionTokens()
        }
        guard machines.sessionTokens != known else { return }
        turn.add(.sessionTokens(machines.sessionTokens))
    }

    mutating func tell(_ news: News) {
        effects.append(.tell(news))
    }
}

/// What a step has changed, other than the views of the conversations that it has touched.
enum News: Equatable, Sendable {
    case connection
    case lists
    case items
    case profiles
    case typing(conversation: String)
    /// An event has told a message that was not known.
    case arrived(message: String, conversation: String, isCatchingUp: Bool)
    /// Nodes have refused an operation.
    case refused(Operation, GrapevineError)
    /// Nodes have ended the sign-in.
    case signedOut
}
