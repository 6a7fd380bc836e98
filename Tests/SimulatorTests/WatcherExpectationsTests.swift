import LineProtocol
import Testing

@testable import Simulator

/// The view that a watcher's client builds from events, compared with what a node shows.
@Suite struct WatcherExpectationsTests {
    private func fields(_ line: String) throws -> ReplyFields {
        guard case .data(_, let fields)? = ReplyLine(line) else {
            throw Violation(invariant: .sound, explanation: line)
        }
        return fields
    }

    private func expectations(_ events: String...) throws -> WatcherExpectations {
        var expectations = WatcherExpectations(user: "bob")
        for event in events {
            _ = expectations.applyEvent(try fields("EVENT id=m by=alice \(event)"))
        }
        return expectations
    }

    private func isEqual(_ expectations: WatcherExpectations, to line: String?) throws -> Bool {
        expectations.difference(at: "m", from: try line.map { try fields("MESSAGE id=m \($0)") })
            == nil
    }

    @Test func `a message that was told is as it shows, and nothing else`() throws {
        let told = try expectations("kind=message text=hi")
        #expect(try isEqual(told, to: "text=hi"))
        #expect(try !isEqual(told, to: "text=ho"))
        #expect(try !isEqual(told, to: "text=hi edited=2026-11-21T06:00:00.123Z"))
        #expect(try !isEqual(told, to: nil))
        #expect(try !isEqual(try expectations(), to: "text=hi"))
        #expect(try isEqual(try expectations(), to: nil))
    }

    @Test func `a pin is whose was told last, or none`() throws {
        let pinned = try expectations("kind=message text=hi", "kind=pin")
        #expect(try isEqual(pinned, to: "text=hi pinnedBy=alice"))
        #expect(try !isEqual(pinned, to: "text=hi") && !isEqual(pinned, to: "text=hi pinnedBy=bob"))
        let unpinned = try expectations("kind=message text=hi pinnedBy=alice", "kind=unpin")
        #expect(try isEqual(unpinned, to: "text=hi"))
        var unknown = WatcherExpectations(user: "bob")
        #expect(!unknown.applyEvent(try fields("EVENT kind=pin id=m by=alice")))
    }

    @Test func `a mark is the last that was told`() throws {
        let told = try expectations("kind=read conversation=c", "kind=read conversation=d")
        #expect(told.marks == ["c": ["alice": "m"], "d": ["alice": "m"]])
    }

    @Test func `a deletion for everyone is final, and one for a user lasts until it is undone`()
        throws
    {
        let line = "text=\"[Message deleted]\" deletedForEveryone=true"
        let deleted = try expectations(
            "kind=message text=hi", "kind=delete for=everyone", "kind=edit text=ho")
        #expect(try isEqual(deleted, to: line))
        #expect(try !isEqual(deleted, to: "text=ho"))
        #expect(try !isEqual(try expectations("kind=message text=hi"), to: line))
        var gone = WatcherExpectations(user: "alice")
        _ = gone.applyEvent(try fields("EVENT id=m by=alice kind=message text=hi"))
        _ = gone.applyEvent(try fields("EVENT id=m by=alice kind=delete for=me"))
        #expect(try isEqual(gone, to: nil))
        #expect(try !isEqual(gone, to: "text=hi"))
        _ = gone.applyEvent(try fields("EVENT id=m by=alice kind=restore text=hi"))
        #expect(try isEqual(gone, to: "text=hi"))
    }

    @Test func `what becomes of a message is not told before it`() throws {
        for event in ["kind=edit text=hi", "kind=restore text=hi"] {
            var expectations = WatcherExpectations(user: "bob")
            let event = try fields("EVENT id=m by=alice \(event)")
            let isKnownBefore = expectations.applyEvent(event)
            _ = expectations.applyEvent(try fields("EVENT id=m by=alice kind=message text=hi"))
            let isKnownBehind = expectations.applyEvent(event)
            #expect(!isKnownBefore && isKnownBehind)
        }
    }
}
