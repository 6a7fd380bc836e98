/// The operations of the user that no node has accepted, in lanes: those of one lane are sent one
/// after the other, and the next one when the one before is answered.
///
/// Times are milliseconds of a monotonic clock. The caller stores what has changed before it sends
/// what ``send(now:stamp:)`` returns.
struct Outbox: Equatable, Sendable {
    /// The most operations that wait; more are refused with 429.
    static let operationsMax = 1_000
    /// The most lanes of which an operation is under way.
    static let lanesMax = 16
    /// The first and the longest pause before an operation without an answer is sent again.
    private static let pauses: ClosedRange<Int64> = 100...800
    /// The longest time that a node may ask to wait.
    private static let retryMax: Int64 = 60_000

    /// What became of an operation that was answered.
    enum Settlement: Equatable, Sendable {
        /// A node has accepted the operation: its consequence is to be merged in the transaction
        /// that deletes it.
        case accepted(Operation, at: ExactTime?)
        /// Nodes refuse the operation, and with it those that need what it would have made.
        case refused(Operation, dependents: [Operation], GrapevineError)
        /// The operation waits, and is sent again with the same stamp.
        case waits
        /// The operation waits for another access token.
        case needsToken
        /// No node executes the operation under its stamp, or none before its time has come.
        case untimely(Operation, isExpired: Bool, now: ExactTime?)
    }

    private struct LaneState: Equatable, Sendable {
        var isUnderWay = false
        var attempts: Int64 = 0
        var pausedUntil: Int64 = .min
    }

    /// The operations that wait, in the order of their numbers.
    private(set) var operations: [Operation]
    /// The last number that was given.
    private(set) var lastNumber: UInt64
    private var lanes: [Lane: LaneState] = [:]

    /// - Parameters:
    ///   - operations: those that were stored, in the order of their numbers.
    ///   - lastNumber: the last number that was given before.
    init(operations: [Operation] = [], lastNumber: UInt64 = 0) {
        self.operations = operations
        self.lastNumber = max(lastNumber, operations.last?.number ?? 0)
    }

    /// Adds an action of the user.
    ///
    /// - Parameters:
    ///   - created: the time of this device, in milliseconds since 1970.
    ///   - epoch: the present epoch of the conversation.
    /// - Throws: 429 if a thousand operations wait.
    mutating func add(
        _ action: Action, created: Int64, epoch: Int = 0
    ) throws(GrapevineError) -> Operation {
        guard operations.count < Self.operationsMax else { throw .tooManyWaiting }
        lastNumber = nextNumber(created: created)
        let operation = Operation(
            number: lastNumber, action: action, created: created, epoch: epoch)
        operations.append(operation)
        return operation
    }

    /// Returns the number of the next operation.
    func nextNumber(created: Int64) -> UInt64 { max(lastNumber + 1, UInt64(max(0, created))) }

    /// Returns the first operation of each lane that can be sent now; from then on it is under way.
    ///
    /// - Parameter stamp: gives an operation its stamp before its first attempt.
    mutating func send(now: Int64, stamp: (Operation) -> Operation.Stamp) -> [Operation] {
        var count = lanes.values.count { $0.isUnderWay }
        var seen: Set<Lane> = []
        var sent: [Operation] = []
        for index in operations.indices {
            let lane = operations[index].action.lane
            guard seen.insert(lane).inserted, count < Self.lanesMax else { continue }
            var state = lanes[lane] ?? LaneState()
            guard !state.isUnderWay, state.pausedUntil <= now else { continue }
            state.isUnderWay = true
            lanes[lane] = state
            count += 1
            if operations[index].stamp == nil, !operations[index].action.isTimedByNodes {
                operations[index].stamp = stamp(operations[index])
            }
            sent.append(operations[index])
        }
        return sent
    }

    /// The time at which a paused lane goes on; nil if none is paused.
    var deadline: Int64? {
        let waiting = Set(operations.map(\.action.lane))
        return lanes.filter { waiting.contains($0.key) && !$0.value.isUnderWay }
            .map(\.value.pausedUntil).filter { $0 > .min }.min()
    }

    /// Has all lanes try again at once, for instance because the network is back.
    mutating func retry() {
        for lane in lanes.keys {
            lanes[lane]?.attempts = 0
            lanes[lane]?.pausedUntil = .min
        }
    }

    /// Takes in the answer to an operation that is under way.
    ///
    /// - Returns: nil if there is no such operation any more.
    mutating func settle(_ number: UInt64, _ answer: Answer, now: Int64) -> Settlement? {
        guard let operation = operations.first(where: { $0.number == number }) else { return nil }
        let lane = operation.action.lane
        lanes[lane]?.isUnderWay = false
        switch answer {
        case .accepted(let at):
            remove([operation])
            return .accepted(operation, at: at)
        case .refused(let error):
            let dependents = operations.filter {
                $0.number != number && operation.action.isNeeded(by: $0.action)
            }
            remove([operation] + dependents)
            return .refused(operation, dependents: dependents, error)
        case .unauthorized: return .needsToken
        case .later(let seconds), .unknown(let seconds):
            pause(lane, retryAfter: seconds, now: now)
            return .waits
        case .untimely(let isExpired, let time):
            pause(lane, retryAfter: nil, now: now)
            return .untimely(operation, isExpired: isExpired, now: time)
        }
    }

    /// Takes the stamp of an operation that no node executes any more under it: it gets another one
    /// when it is sent again.
    mutating func takeStamp(of number: UInt64) {
        guard let index = operations.firstIndex(where: { $0.number == number }) else { return }
        operations[index].stamp = nil
    }

    /// Removes an operation that nodes turn out to have executed.
    mutating func forget(_ operation: Operation) {
        remove([operation])
    }

    private mutating func remove(_ gone: [Operation]) {
        let numbers = Set(gone.map(\.number))
        operations.removeAll { numbers.contains($0.number) }
        for operation in gone { lanes[operation.action.lane]?.attempts = 0 }
        let waiting = Set(operations.map(\.action.lane))
        lanes = lanes.filter { waiting.contains($0.key) || $0.value.isUnderWay }
    }

    private mutating func pause(_ lane: Lane, retryAfter seconds: Double?, now: Int64) {
        let attempts = lanes[lane]?.attempts ?? 0
        let pause = min(Self.pauses.lowerBound << min(attempts, 8), Self.pauses.upperBound)
        let asked = Int64(max(0, min(seconds ?? 0, Double(Self.retryMax) / 1_000)) * 1_000)
        lanes[lane]?.attempts += 1
        lanes[lane]?.pausedUntil = now + max(pause, asked)
    }
}
