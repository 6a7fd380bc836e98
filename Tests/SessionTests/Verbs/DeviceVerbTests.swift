import Node
import NodeKit
import Testing

@testable import Session

/// Devices and their notifications, as the line protocol prescribes them.
@Suite struct DeviceVerbTests {
    private let world = World()
    private let client: TestClient

    init() {
        client = world.n1.connect()
        _ = client.ask("CREATE c1 alice,bob,carol", "CREATE c2 alice,bob")
    }

    /// Returns the pairs of each notification: its kind, message, sender and text.
    private func notifications(_ user: String = "bob", _ device: String = "phone") -> [String] {
        client.ask("NOTIFICATIONS \(user) \(device)").map { line in
            line.split(separator: " ").filter { !$0.hasPrefix("id=") }.joined(separator: " ")
        }
    }

    private func ids(_ user: String = "bob", _ device: String = "phone") -> [String] {
        client.ask("NOTIFICATIONS \(user) \(device)").compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) }
        }
    }

    private func line(
        _ message: String, in conversation: String = "c1", from: String = "alice",
        _ text: String = "hi"
    ) -> String {
        "NOTIFICATION kind=message conversation=\(conversation) message=\(message) from=\(from) "
            + "text=\(text)"
    }

    @Test func `each message of another's is listed, oldest first, until it is taken off`() {
        let replies = client.ask(
            "SEND c1 alice id=m0 hi", "DEVICE ADD bob phone token=t", "SEND c1 alice id=m1 hi",
            "SEND c2 alice id=m2 hi", "SEND c1 bob id=m3 hi", "SEND c1 carol id=m4 hi")
        #expect(replies.allSatisfy { $0.hasPrefix("OK") })
        let all = [line("m1"), line("m2", in: "c2"), line("m4", from: "carol"), "OK"]
        #expect(notifications() == all)
        #expect(notifications() == all)
        let listed = ids()
        #expect(listed == listed.sorted())
        #expect(client.ask("NOTIFIED bob phone \(listed[1])") == ["OK"])
        #expect(notifications() == Array(all[2...]))
        #expect(client.ask("NOTIFIED bob phone \(listed[1])", "NOTIFIED bob phone x").count == 2)
        #expect(notifications() == Array(all[2...]))
        #expect(client.ask("NOTIFIED bob phone \(listed[2])", "SEND c1 alice id=m5 hi").count == 2)
        #expect(notifications() == [line("m5"), "OK"])
    }

    @Test func `a user's devices are listed by id, with what they view`() {
        #expect(client.ask("DEVICES bob") == ["OK"])
        _ = client.ask(
            "DEVICE ADD bob tablet token=\"t 2\"", "DEVICE ADD bob phone token=t1",
            "DEVICE ADD bob watch token=t3", "DEVICE REMOVE bob watch", "VIEWING bob phone c1",
            "DEVICE ADD carol phone token=t4")
        let devices = ["DEVICE id=phone token=t1 viewing=c1", "DEVICE id=tablet token=\"t 2\""]
        #expect(client.ask("DEVICES bob") == devices + ["OK"])
        #expect(client.ask("VIEWING bob phone", "DEVICES bob")[1] == "DEVICE id=phone token=t1")
    }

    @Test func `a notification says what its sender calls themselves`() {
        _ = client.ask(
            "DEVICE ADD bob phone token=t", "PROFILE alice name=\"Alice A.\"",
            "SEND c1 alice id=m1 hi", "SEND c1 carol id=m2 hi")
        let named =
            "NOTIFICATION kind=message conversation=c1 message=m1 from=alice "
            + "fromName=\"Alice A.\" text=hi"
        #expect(notifications() == [named, line("m2", from: "carol"), "OK"])
        _ = client.ask("DELETE c1 m1 alice for=everyone", "PROFILE alice name=Al")
        #expect(
            notifications().first
                == "NOTIFICATION kind=withdrawn conversation=c1 message=m1 from=alice fromName=Al")
    }

    @Test func `what a device shows it is not notified of, and another is`() {
        _ = client.ask(
            "DEVICE ADD bob phone token=t", "DEVICE ADD bob tablet token=t",
            "DEVICE ADD carol phone token=t", "SEND c1 alice id=m1 hi", "VIEWING bob phone c1",
            "SEND c1 alice id=m2 hi", "SEND c2 alice id=m3 hi", "VIEWING bob phone",
            "SEND c1 alice id=m4 hi")
        #expect(notifications() == [line("m1"), line("m3", in: "c2"), line("m4"), "OK"])
        #expect(
            notifications("bob", "tablet")
                == [line("m1"), line("m2"), line("m3", in: "c2"), line("m4"), "OK"])
        #expect(notifications("carol") == [line("m1"), line("m2"), line("m4"), "OK"])
    }

    @Test func `what is deleted is withdrawn if it was shown, else never listed`() {
        _ = client.ask(
            "DEVICE ADD bob phone token=t", "SEND c1 alice id=m1 hi", "SEND c1 alice id=m2 hi")
        #expect(notifications().count == 3)
        _ = client.ask("SEND c1 alice id=m3 hi")
        _ = client.ask(
            "DELETE c1 m1 alice for=everyone", "DELETE c1 m2 bob",
            "DELETE c1 m3 alice for=everyone")
        #expect(
            notifications() == [
                "NOTIFICATION kind=withdrawn conversation=c1 message=m1 from=alice",
                "NOTIFICATION kind=withdrawn conversation=c1 message=m2 from=alice", "OK",
            ])
        _ = client.ask("RESTORE c1 m2 bob", "EDIT c1 m2 alice ho")
        #expect(notifications()[1] == line("m2", "ho"))
        #expect(client.ask("NOTIFIED bob phone \(ids()[1])") == ["OK"])
        #expect(notifications() == ["OK"])
    }

    @Test func `an edited message is not notified a second time`() {
        _ = client.ask("DEVICE ADD bob phone token=t", "SEND c1 alice id=m1 hi")
        #expect(client.ask("NOTIFIED bob phone \(ids()[0])") == ["OK"])
        _ = client.ask("EDIT c1 m1 alice ho", "PIN c1 m1 alice", "SEND c1 alice id=m1 hi")
        #expect(notifications() == ["OK"])
    }

    @Test func `a device is added again, replaced, removed and unknown`() {
        for verb in ["VIEWING", "NOTIFICATIONS", "DEVICE REMOVE", "NOTIFIED"] {
            let line = "\(verb) bob phone" + (verb == "NOTIFIED" ? " x" : "")
            #expect(client.ask(line) == ["ERR 404 Device not found"])
        }
        _ = client.ask("DEVICE ADD bob phone token=t1", "SEND c1 alice id=m1 hi")
        #expect(client.ask("DEVICE ADD bob phone token=t2") == ["OK"])
        #expect(notifications() == [line("m1"), "OK"])
        #expect(client.ask("DEVICE REMOVE bob phone", "DEVICE REMOVE bob phone") == ["OK", "OK"])
        #expect(notifications() == ["ERR 404 Device not found"])
        _ = client.ask("DEVICE ADD bob phone token=t3", "SEND c1 alice id=m2 hi")
        #expect(notifications() == [line("m2"), "OK"])
    }

    @Test func `a user has at most thirty-two devices`() {
        for number in 1...32 {
            #expect(client.ask("DEVICE ADD bob d\(number) token=t") == ["OK"])
        }
        #expect(
            client.ask("DEVICE ADD bob d33 token=t") == ["ERR 429 A user has at most 32 devices"])
        let others = client.ask("DEVICE ADD bob d1 token=other", "DEVICE ADD carol d33 token=t")
        #expect(others == ["OK", "OK"])
        #expect(client.ask("DEVICE REMOVE bob d7", "DEVICE ADD bob d33 token=t") == ["OK", "OK"])
        #expect(client.ask("DEVICE ADD bob d7 token=t").first?.hasPrefix("ERR 429") == true)
    }

    @Test func `at most a thousand are listed, and the rest once some are taken off`() {
        _ = client.ask("DEVICE ADD bob phone token=t")
        for number in 0..<1_100 { _ = client.ask("SEND c1 alice id=m\(number) hi") }
        let first = ids()
        #expect(first.count == 1_000)
        #expect(client.ask("NOTIFIED bob phone \(first[499])") == ["OK"])
        let second = ids()
        #expect(second.count == 600)
        #expect(second.starts(with: first[500...]))
    }

    @Test func `sample data and what a user hid are not notified`() {
        _ = client.ask("DEVICE ADD bob phone token=t", "SEED")
        #expect(notifications() == ["OK"])
        _ = client.ask("SEND c1 alice id=m1 hi", "HIDECHAT c1 bob", "SEND c1 alice id=m2 hi")
        let name = "from=alice fromName=\"Alice Martin\""
        #expect(
            notifications()
                == ["NOTIFICATION kind=message conversation=c1 message=m2 \(name) text=hi", "OK"])
        _ = client.ask("HIDECHAT c1 bob")
        #expect(
            notifications()
                == ["NOTIFICATION kind=withdrawn conversation=c1 message=m2 \(name)", "OK"])
    }

    @Test func `what is pipelined comes in its order`() {
        let replies = client.ask(
            "DEVICE ADD bob phone token=t", "SEND c1 alice id=m1 hi", "NOTIFICATIONS bob phone",
            "PING")
        #expect(replies.count == 5 && replies[2].hasPrefix("NOTIFICATION id="))
        #expect(replies.last == "OK pong")
        let more =
            client.ask(
                "NOTIFICATIONS bob phone", "DELETE c1 m1 alice for=everyone",
                "NOTIFICATIONS bob phone")
            + client.ask("NOTIFICATIONS bob phone", "DEVICE REMOVE bob phone")
            + client.ask("NOTIFICATIONS bob phone", "DEVICE ADD bob phone token=t")
            + client.ask("NOTIFICATIONS bob phone", "PING")
        let kinds = more.map { line in
            line.hasPrefix("NOTIFICATION ") ? String(line.split(separator: " ")[2]) : line
        }
        #expect(
            kinds == [
                "kind=message", "OK", "OK", "kind=withdrawn", "OK", "kind=withdrawn", "OK", "OK",
                "ERR 404 Device not found", "OK", "OK", "OK pong",
            ])
    }

    @Test func `who leaves is not notified, and sees no text of what was listed`() {
        _ = client.ask("DEVICE ADD carol phone token=t", "SEND c1 alice id=m1 hi")
        #expect(notifications("carol").count == 2)
        _ = client.ask("SEND c1 alice id=m2 hi", "LEAVECHAT c1 carol")
        #expect(
            notifications("carol")
                == ["NOTIFICATION kind=withdrawn conversation=c1 message=m1 from=alice", "OK"])
    }
}
