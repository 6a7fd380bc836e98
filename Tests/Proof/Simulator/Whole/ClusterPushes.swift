import JSON
import LineProtocol
import Node
import Wire

/// What the push service has received for one device.
struct ClusterPushed {
    /// The number of the device's token, which the device changes now and then.
    var token = 0
    /// The message that each id stood for when it was pushed first.
    var messages: [String: String] = [:]
    /// The kinds and ids that have arrived, as `kind id`.
    var arrived: Set<String> = []
    /// The messages that the device was told of.
    var told: Set<String> = []
}

/// The devices that are told by pushes, and the push service, which loses requests and answers.
extension ClusterWorld {
    /// The limit of the time until every device is told of all that is listed, in microseconds:
    /// pauses after failures in a disturbed cluster double from one second on.
    private static let toldMicroseconds: UInt64 = 90_000_000
    private static let pushTimeoutMicroseconds: UInt64 = 2_000_000
    /// The time after which no push is to come any more, and for how long none is.
    private static let settledMicroseconds: UInt64 = 15_000_000
    private static let silentMicroseconds: UInt64 = 5_000_000

    func beginPushes() {
        for index in 0..<plan.pushedDevices {
            let user = ClusterClient.user(pushRandom.below(plan.clients))
            pushed.append(ClusterPhone(index, user: user))
            push(.addPushed(index), after: pushRandom.between(0...1_000_000))
        }
    }

    /// Has a device added, again and again.
    func addPushed(_ phone: ClusterPhone) {
        guard isOpen(for: phone.visit) else { return }
        push(.addPushed(phone.index), after: pushRandom.between(50_000...2_000_000))
        guard phone.visit == nil else { return }
        if pushRandom.below(4) == 0 { phone.pushed.token += 1 }
        guard let visit = openVisit(to: pushRandom.below(machines.count), as: phone.user) else {
            return
        }
        phone.visit = visit
        visit.phone = phone
        ask([request(.add, of: phone)], on: visit)
        endLines(of: visit)
    }

    // MARK: The push service

    /// Carries a push to the service, or loses it, or its answer.
    func carryPush(_ body: [UInt8], call: UInt64, from address: ClusterAddress) {
        let isQuiet = now >= clientsUntil
        let fate = isQuiet ? 99 : pushRandom.below(100)
        let isLost = fate < 4
        let refusal = refusal(of: body, fate, isQuiet: isQuiet)
        if refusal == 400 { refusedPushCount += 1 }
        if !isLost, refusal.map({ $0 < 500 }) ?? true { receive(body, from: address) }
        if !isLost, refusal == nil { pushCount += 1 }
        let status: Int? = isLost || (8..<12).contains(fate) ? nil : refusal ?? 200
        coverage.count("push \(status.map(String.init) ?? "without an answer")")
        let wait = pushRandom.between(200...(isQuiet ? 20_000 : 200_000))
        push(
            .pushAnswered(address, call: call, status: status),
            after: status == nil ? ClusterWorld.pushTimeoutMicroseconds : wait)
    }

    /// Returns the status with which the service refuses a push; nil where it takes it.
    ///
    /// Pushes of some messages are refused each time, and of some until the quiet phase: neither is
    /// to hold up others.
    private func refusal(of body: [UInt8], _ fate: Int, isQuiet: Bool) -> Int? {
        switch checksum(of: message(in: body)) % 16 {
        case 0: return 400
        case 1 where !isQuiet: return 503
        default: return (4..<8).contains(fate) ? 503 : nil
        }
    }

    private func message(in body: [UInt8]) -> String {
        do throws(JSONError) {
            return ClusterNotification(try JSONValue(reading: body))?.message ?? ""
        } catch {
            return ""
        }
    }

    func onPushAnswered(_ address: ClusterAddress, call: UInt64, status: Int?) {
        step(address, "push-answered", call) { process in
            process.pusher?.assumeIsolated { $0.onAnswer(status, to: call) }
        }
    }

    private func receive(_ body: [UInt8], from address: ClusterAddress) {
        trace("pushed", address.machine, digest(body))
        tracer?("    pushed by n\(address.machine + 1): \(String(decoding: body, as: UTF8.self))")
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(reading: body)
        } catch {
            return fail(.sound, "a push is no JSON: \(error)")
        }
        guard let notification = ClusterNotification(value),
            case .text(let name)? = value["device"],
            let phone = pushed.first(where: { $0.device == name })
        else { return fail(.sound, "a push for no device: \(value)") }
        judge(notification, of: phone)
        note(notification, for: phone)
    }

    private func note(_ notification: ClusterNotification, for phone: ClusterPhone) {
        let (id, message) = (notification.id, notification.message)
        let first = phone.pushed.messages[id] ?? message
        if first != message {
            fail(.oneChange, "push \(id) to \(phone.device) stood for \(first), now for \(message)")
        }
        phone.pushed.messages[id] = message
        let (isNew, _) = phone.pushed.arrived.insert("\(notification.kind) \(id)")
        coverage.count(isNew ? "pushed: \(notification.kind)" : "pushed again")
        if notification.kind == "message" { phone.pushed.told.insert(message) }
    }

    // MARK: The quiet phase

    func preparePushes() {
        for phone in pushed { ring(.add, of: phone, at: members[0].index) }
    }

    /// Checks that each device is told of everything that its list has, and of every message that
    /// it must be notified of; then the pushers stop.
    func checkPushes() {
        let end = now + ClusterWorld.toldMicroseconds
        for phone in pushed {
            var missing = missingPush(of: phone)
            while finding == nil, missing != nil, now < end {
                _ = run(until: now + 500_000)
                missing = missingPush(of: phone)
            }
            guard let missing else { continue }
            fail(.kept, "\(phone.user) \(phone.device) is not told of \(missing)")
        }
        checkSilence()
        arePushersStopped = true
        // What they asked last is over by then.
        _ = run(until: now + ClusterWorld.pushTimeoutMicroseconds)
    }

    /// Checks that nothing is told again when each member is stopped in order and starts again.
    func checkPushesOverRestarts() {
        guard finding == nil, !pushed.isEmpty, pushRandom.below(3) == 0 else { return }
        arePushersStopped = false
        _ = run(until: now + ClusterWorld.settledMicroseconds)
        let count = pushCount
        for machine in members where finding == nil {
            guard let process = machine.process else { continue }
            process.isToldToStop = true
            let address = ClusterAddress(machine: machine.index, process: process.id)
            step(address, "shutdown") { process in process.node.assumeIsolated { $0.shutDown() } }
            _ = run(until: now + ClusterProcess.stopMicroseconds)
            restart(machine.index, after: 0)
            _ = run(until: now + ClusterWorld.silentMicroseconds)
        }
        coverage.count("pushes over restarts")
        if finding == nil, pushCount > count {
            fail(.oneChange, "\(pushCount - count) pushes were repeated by nodes that restarted")
        }
    }

    /// Checks that devices that were told of everything are told nothing more.
    private func checkSilence() {
        // What is taken off the lists, and what waits after a failure.
        _ = run(until: now + ClusterWorld.settledMicroseconds)
        let before = pushCount + refusedPushCount
        _ = run(until: now + ClusterWorld.silentMicroseconds)
        let count = pushCount + refusedPushCount - before
        if finding == nil, count > 0 {
            fail(.oneChange, "\(count) pushes came after all devices had been told")
        }
    }

    private func missingPush(of phone: ClusterPhone) -> String? {
        let requests = [request(.list, of: phone)]
        let lines = needed(requests, of: members[0].index, as: phone.user)
            .flatMap { $0.lines("NOTIFICATION") }
        for line in lines {
            let key = "\(line["kind"] ?? "") \(line["id"] ?? "")"
            if !phone.pushed.arrived.contains(key) { return "\(key), which is listed" }
        }
        for name in expectations.names where !losses.concern(name) {
            guard let message = expectations.messages[name.id], isDue(message, for: phone) else {
                continue
            }
            if !phone.pushed.told.contains(name.id) { return name.id }
            coverage.count("push due")
        }
        return nil
    }
}
