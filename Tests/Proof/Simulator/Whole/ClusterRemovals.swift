import LineProtocol

/// The checks of devices that are removed in the quiet phase, and added again.
extension ClusterWorld {
    /// The limit of the time in which a device's change reaches every node, in microseconds.
    private static let removalMicroseconds: UInt64 = 1_000_000

    /// Checks on every node that a removed device has no list, and that a device that is added
    /// again begins with an empty one.
    func checkRemovals() {
        let (first, last) = (members[0].index, members[members.count - 1].index)
        for phone in phones { ring(.remove, of: phone, at: first) }
        _ = run(until: now + ClusterWorld.removalMicroseconds)
        for phone in phones {
            for (machine, answer) in lists(of: phone) where answer.code != 404 {
                fail(.oneChange, "\(machine) answers \(answer.summary) to a removed device")
            }
        }
        for phone in phones { ring(.add, of: phone, at: last) }
        _ = run(until: now + ClusterWorld.removalMicroseconds)
        for phone in phones {
            for (machine, answer) in lists(of: phone) {
                let ids = messages(in: answer).map(\.message)
                guard answer.code != nil || !ids.isEmpty else { continue }
                fail(.oneChange, "\(machine) notifies a device that was just added: \(ids)")
            }
        }
    }

    private func lists(of phone: ClusterPhone) -> [(machine: String, answer: ClusterAnswer)] {
        members.flatMap { machine in
            needed([request(.list, of: phone)], of: machine.index, as: phone.user).map {
                (machine.name, $0)
            }
        }
    }
}
