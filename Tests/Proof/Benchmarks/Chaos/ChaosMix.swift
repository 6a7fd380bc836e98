/// The requests of a chaos run's clients, and their frequencies.
extension Expectations {
    /// The number of newest messages among which requests choose.
    static let recentMessages = 2_000

    /// Draws the next request.
    mutating func draw(_ random: inout SeededRandom) -> ChaosRequest {
        switch random.below(100) {
        case ..<55: drawSend(&random)
        case ..<63: drawLook(&random)
        case ..<67: drawHabit(&random)
        case let dice: drawAboutMessage(&random, dice: dice) ?? drawSend(&random)
        }
    }

    static func isFounder(_ user: Int) -> Bool { founders.contains(user) }

    private func request(
        _ kind: ChaosRequest.Kind, _ target: Int = 0, user: Int
    ) -> ChaosRequest {
        ChaosRequest(kind: kind, target: target, user: user, time: time)
    }

    private mutating func drawSend(_ random: inout SeededRandom) -> ChaosRequest {
        let sender = random.within(Self.hiders.lowerBound...Self.retractor)
        let message = addMessage(in: random.below(conversations), from: sender)
        return request(.send, message, user: sender)
    }

    /// Draws a read.
    private func drawLook(_ random: inout SeededRandom) -> ChaosRequest {
        let user = random.below(Self.users.count)
        switch random.below(8) {
        case 0: return request(.unread, user: user)
        case 1, 2: return request(.chats, user: user)
        case 3:
            return request(
                .pinned, random.below(conversations), user: random.within(Self.founders))
        default: return request(.history, random.below(conversations), user: user)
        }
    }

    /// Draws an archiving, an invitation or a departure.
    private mutating func drawHabit(_ random: inout SeededRandom) -> ChaosRequest {
        let conversation = random.below(conversations)
        let user = random.within(random.chance(percent: 50) ? Self.guests : Self.founders)
        let thing = Self.isFounder(user) ? ChaosRequest.Thing.archive : .presence
        let isOn = random.chance(percent: 50)
        switch Self.habit(of: user, in: conversation) {
        case .nothing: return drawLook(&random)
        case .onlyOn: return request(.turn(thing, isOn: true), conversation, user: user)
        case .both: return request(.turn(thing, isOn: isOn), conversation, user: user)
        }
    }

    private mutating func drawAboutMessage(
        _ random: inout SeededRandom, dice: Int
    ) -> ChaosRequest? {
        let recent = min(Self.recentMessages, messages.count)
        guard recent > 0 else { return nil }
        let index = messages.count - 1 - random.below(recent)
        let message = messages[index]
        guard message.sent.isCertain else { return nil }
        switch dice {
        case ..<80:
            guard message.edits.count < Self.editsMax else { return nil }
            return request(.edit(addEdit(of: index)), index, user: message.sender)
        case ..<84:
            guard message.sender == Self.retractor, message.retracted == .never else { return nil }
            return request(.retract, index, user: message.sender)
        case ..<88:
            let isOn = random.chance(percent: 70)
            return request(.turn(.pin, isOn: isOn), index, user: random.within(Self.founders))
        case ..<90:
            let user = random.within(Self.founders)
            guard Self.habit(of: user, in: message.conversation) != .nothing else { return nil }
            return request(.read, index, user: user)
        default:
            let user = random.within(Self.hiders)
            let ownDeletion = message.ownDeletions[user - Self.hiders.lowerBound]
            guard !ownDeletion.isOpen else { return nil }
            let isRestore = ownDeletion.standing == .hidden || dice > 97
            return request(isRestore ? .restore : .hide, index, user: user)
        }
    }
}
