import Foundation
import TestKit

@testable import GrapevineClient

/// The connection of a device to the network.
final class ModelLine {
    var isUp = true
    /// Milliseconds by which answers arrive later, by the path of the request without its query.
    var lateness: [String: Int64] = [:]
}

/// The network of one start of a client.
final class ModelTransport: Transport {
    private let cluster: ModelCluster
    private let line: ModelLine
    private var stream: ModelStream?
    /// Whether nothing leaves any more, since the app is about to end.
    var isMute = false
    /// Called after each thing that the client was told.
    var told: () -> Void = {}
    /// The operations under way, by lane: no lane may have two.
    private var lanes: [String: Int] = [:]
    /// The requests that the client has sent: the method and the path without its query.
    private(set) var requests: [String] = []
    /// What the client did wrong.
    private(set) var violations: [String] = []

    init(_ cluster: ModelCluster, _ line: ModelLine) {
        self.cluster = cluster
        self.line = line
    }

    func send(_ call: Call, to node: Int, answer: @escaping (Response?) -> Void) {
        guard !isMute else { return }
        let path = String(call.request.path.prefix { $0 != "?" })
        requests.append(call.request.method.rawValue + " " + path)
        let clock = cluster.clock
        let node = cluster.nodes[node]
        let lane = begin(call)
        var isOver = false
        let once = { [self] (response: Response?) in
            guard !isOver else { return }
            isOver = true
            if let lane { lanes[lane, default: 0] -= 1 }
            answer(response)
            told()
        }
        clock.after(call.patience) { once(nil) }
        guard line.isUp, node.isUp else { return clock.after(1) { once(nil) } }
        clock.after(cluster.delay()) { [cluster, line] in
            guard line.isUp, node.isUp else { return once(nil) }
            node.whenRunning {
                let response = cluster.answer(node, call)
                // It is executed, and its answer is lost.
                if cluster.happens(15) { return }
                clock.after(cluster.delay() + line.lateness[path, default: 0]) {
                    if line.isUp, node.isRunning { once(response) }
                }
            }
        }
    }

    /// Notes that a write is under way, and returns its lane.
    private func begin(_ call: Call) -> String? {
        let parts = call.request.path.split(separator: "?")[0].split(separator: "/")
        guard call.request.method != .get, parts.count > 2, !parts.contains("marks"),
            !parts.contains("typing"), parts[1] == "conversations" || parts[1] == "chats"
        else { return nil }
        let lane = String(parts[2])
        lanes[lane, default: 0] += 1
        if lanes[lane] != 1 { violations.append("Two operations of \(lane) are under way") }
        return lane
    }

    func open(
        _ call: Call, at node: Int, stream: Int, events: @escaping (StreamEvent) -> Void
    ) {
        close()
        guard !isMute else { return }
        let opened = ModelStream(cluster, cluster.nodes[node], line, call) { [weak self] event in
            events(event)
            self?.told()
        }
        self.stream = opened
        opened.begin()
    }

    func close() {
        stream?.close()
        stream = nil
    }
}

/// An event stream between a client and a node of the model.
final class ModelStream {
    private let cluster: ModelCluster
    private let node: ModelNode
    private let line: ModelLine
    private let call: Call
    private let events: (StreamEvent) -> Void
    private var user = ""
    private var isClosed = false
    /// Whether the line was down when something was sent: then nothing more arrives.
    private var isDead = false
    /// What has been told, by the numbers of each node's changes.
    private var told: [Int] = []
    /// What tokens include in any case.
    private var floor: [Int] = []
    private var waiting: [EventStreamReader.Event] = []
    /// When the last event arrives: events overtake answers, and not each other.
    private var arrival: Int64 = 0

    init(
        _ cluster: ModelCluster, _ node: ModelNode, _ line: ModelLine, _ call: Call,
        events: @escaping (StreamEvent) -> Void
    ) {
        self.cluster = cluster
        self.node = node
        self.line = line
        self.call = call
        self.events = events
    }

    func begin() {
        cluster.clock.after(cluster.delay()) { [self] in
            // A network that is gone says nothing.
            guard !isClosed, line.isUp else { return }
            guard node.isUp else { return cut() }
            node.whenRunning { [self] in accept() }
        }
    }

    private func accept() {
        guard !isClosed, line.isUp else { return }
        guard let access = cluster.access(call.accessToken) else { return refuse(401) }
        user = access.user
        let since = ModelCluster.since(call.request.path)
        if since != nil, cluster.refusesTokens {
            cluster.refuseToken()
            return refuse(400)
        }
        deliver { [self] in events(.answered(status: 200)) }
        watch(since)
        beat()
        cluster.clock.after(access.end - cluster.clock.now + 1) { [self] in cut() }
    }

    private func refuse(_ status: Int) {
        close()
        deliver { [self] in events(.answered(status: status)) }
    }

    /// Ends the stream from the node's side.
    func cut() {
        guard !isClosed else { return }
        close()
        cluster.clock.after(1) { [self] in
            if line.isUp, !isDead { events(.ended) }
        }
    }

    func close() {
        isClosed = true
        node.watchers.removeAll { $0 === self }
    }

    private func watch(_ since: [Int]?) {
        told = node.vector
        floor = cluster.lowersTokens ? [] : since ?? []
        let first = ModelJSON([
            "token": .text(token(since ?? told)), "stream": .text("\(node.process).1"),
            "editWindow": .number(900_000), "now": now,
        ])
        tell("watching", first, token: token(since ?? told))
        if let since {
            // What the client was told elsewhere and this node lacks, it tells again when it has
            // it.
            told = zip(node.vector, since).map(min)
            for event in node.replay(since: told, for: user) { tell(event) }
            told = node.vector
        }
        tell(ModelJSON(["kind": .text("level"), "at": now]))
        node.watchers.append(self)
    }

    private var now: ModelJSON.Value { .time(ExactTime(milliseconds: cluster.clock.now)) }

    private func token(_ vector: [Int]) -> String {
        let vector = floor.isEmpty ? vector : zip(vector, floor).map(max)
        return "[" + vector.map(String.init).joined(separator: ",") + "]"
    }

    /// Tells the user of a change that the node has received.
    func note(_ change: ModelChange) {
        guard change.number > told[change.node] else { return }
        told[change.node] = change.number
        if cluster.fault == .eventsLost, cluster.random.chance(5) { return }
        guard let event = node.event(of: change, for: user), !node.isAgain(change) else { return }
        tell(event)
    }

    /// Sends a heartbeat every five seconds.
    private func beat() {
        cluster.clock.after(5_000) { [self] in
            guard !isClosed else { return }
            if node.isRunning {
                tell("heartbeat", ModelJSON(["kind": .text("heartbeat"), "at": now]), token: nil)
            }
            beat()
        }
    }

    private func tell(_ event: ModelJSON) {
        guard case .text(let kind)? = event["kind"] else { return }
        tell(kind, event, token: token(told))
    }

    private func tell(_ kind: String, _ json: ModelJSON, token: String?) {
        var json = json
        json["token"] = token.map(ModelJSON.Value.text)
        let event = EventStreamReader.Event(name: kind, data: json.text, id: token)
        let isTwice = token != nil && kind != "watching" && cluster.happens(5)
        deliver { [self] in
            // Events that arrive together are handed over together.
            waiting += isTwice ? [event, event] : [event]
        }
    }

    private func deliver(_ action: @escaping () -> Void) {
        let clock = cluster.clock
        arrival = max(arrival, clock.now + min(cluster.delay(), 500))
        clock.after(arrival - clock.now) { [self] in
            if !line.isUp { isDead = true }
            guard !isDead, node.isUp else { return }
            action()
            clock.after(0) { [self] in flush() }
        }
    }

    private func flush() {
        guard !waiting.isEmpty, !isClosed else { return }
        let events = waiting
        waiting = []
        self.events(.events(events))
    }
}
