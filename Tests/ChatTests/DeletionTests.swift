import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// A deletion for everyone is final in every order of events; all orders of small worlds are tried.
struct DeletionTests {
    private static let secrets = ["first secret", "edited secret", "other secret"]

    /// Tried without the fifth state, whose earlier header removes the edits, and with it; the
    /// first text of an image may be empty.
    @Test(arguments: [4, 5], [secrets[0], ""])
    func `a deletion wins over edit, pin and restore in every order of merges`(
        count: Int, first: String
    ) throws {
        let states = Array(concurrent(first).prefix(count))
        for order in permutations(of: states) {
            for start in order.indices {
                // Each replica in turn merges the states of the others, with duplicates.
                let heard = order[start...] + order[..<start] + order.prefix(2)
                let document = heard.dropFirst().reduce(order[start]) { $0.merged(with: $1) }
                try requireGone(document)
                try #require(document.encoded == merged(states).encoded)
            }
        }
    }

    @Test(arguments: [4, 5], [secrets[0], ""])
    func `it wins in every grouping of merges too`(count: Int, first: String) throws {
        let states = Array(concurrent(first).prefix(count))
        for order in permutations(of: states) {
            for split in 1..<count {
                let (left, right) = (merged(Array(order[..<split])), merged(Array(order[split...])))
                try requireGone(left.merged(with: right))
                try #require(left.merged(with: right).encoded == merged(states).encoded)
            }
        }
    }

    /// Two replicas, and every sequence of up to four requests and merges.
    @Test func `once a deletion was heard of, no sequence of events shows the text again`() throws {
        var author = Author(9)
        for text in [DeletionTests.secrets[0], ""] {
            let sent = author.apply(.send(text), by: People.alice, to: nil)
            var world = World(authors: [Author(1), Author(2)], documents: [sent, sent])
            world.authors[1].writer.wallMilliseconds += 3_600_000
            #expect(try explore(world, depth: 4) > 20_000)
        }
    }

    private struct World {
        var authors: [Author]
        var documents: [Document]
        /// Whether the replica has accepted or merged the deletion.
        var heard = [false, false]
    }

    private static let actions: [(ChatAction, UserID)] = [
        (.edit(secrets[1]), People.alice), (.pin, People.bob), (.hide, People.alice),
        (.restore, People.alice), (.retract, People.alice),
    ]

    private func explore(_ world: World, depth: Int) throws -> Int {
        guard depth > 0 else {
            let both = world.documents[0].merged(with: world.documents[1])
            try #require(both == world.documents[1].merged(with: world.documents[0]))
            if world.heard.contains(true) { try requireGone(both) }
            return 1
        }
        var runs = 0
        for index in 0..<2 {
            let document = world.documents[index]
            var next = world
            next.documents[index].merge(world.documents[1 - index])
            next.heard[index] = world.heard.contains(true)
            try requireNoReturn(in: next, at: index)
            runs += try explore(next, depth: depth - 1)
            for (action, user) in DeletionTests.actions {
                next = world
                let changed = next.authors[index].request(
                    action, by: user, of: document, in: .among())
                next.documents[index] = changed ?? document
                // The sender may always delete it.
                if action.action is RetractMessage { next.heard[index] = true }
                try requireNoReturn(in: next, at: index)
                runs += try explore(next, depth: depth - 1)
            }
        }
        return runs
    }

    private func requireNoReturn(in world: World, at index: Int) throws {
        guard world.heard[index], let message = world.documents[index].message else { return }
        guard message.isRetracted, message.text.isEmpty else { throw Shown(message: message) }
    }

    /// Returns the states that five replicas made of one message independently of each other.
    private func concurrent(_ first: String) -> [Document] {
        var sender = Author(9)
        let sent = sender.apply(.send(first), by: People.alice, to: nil)
        let edited = sender.apply(
            .edit(DeletionTests.secrets[1]), by: People.alice, to: sent)
        let hidden = sender.apply(.hide, by: People.bob, to: edited)
        var (one, two, three, four, five) = (
            Author(1), Author(2, wallMilliseconds: 4_600_000), Author(3), Author(4),
            Author(5, wallMilliseconds: 1)
        )
        return [
            one.apply(.retract, by: People.alice, to: hidden),
            two.apply(.edit(DeletionTests.secrets[1]), by: People.alice, to: hidden),
            three.apply(.pin, by: People.carol, to: hidden),
            four.apply(.restore, by: People.bob, to: hidden),
            // The same id, sent earlier on another side of a network partition: its header wins.
            five.apply(.send(DeletionTests.secrets[2]), by: People.alice, to: nil),
        ]
    }

    private func merged(_ documents: [Document]) -> Document {
        documents.dropFirst().reduce(documents[0]) { $0.merged(with: $1) }
    }

    private func requireGone(_ document: Document) throws {
        let message = try #require(document.message)
        let isGone =
            message.isRetracted && message.text.isEmpty && message.versions.isEmpty
            && message.pin == nil
        guard isGone else { throw Shown(message: message) }
        // Each of the texts contains this word.
        if document.encoded.holds("secret") { throw Shown(message: message) }
    }

    private struct Shown: Error { let message: Message }

    private func permutations(of documents: [Document]) -> [[Document]] {
        guard let first = documents.first else { return [[]] }
        return permutations(of: Array(documents.dropFirst())).flatMap { rest in
            (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
        }
    }
}
