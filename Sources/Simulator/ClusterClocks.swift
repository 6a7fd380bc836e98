import LineProtocol

/// Clocks that were years off, and what is left of that once they are right.
extension ClusterWorld {
    /// How far a timestamp may be from the time of its acceptance, in milliseconds: what the clocks
    /// of two machines differ by, and as much as one of them believes.
    private static let apartMilliseconds: Int64 = 1_000

    /// What is accepted in the quiet bears the time of its acceptance, whatever clocks once said.
    func checkTime(_ text: String?, at index: Int) {
        guard let text, let time = LineTime.parse(text) else {
            return fail(.times, "n\(index + 1) says no time: \(text ?? "")")
        }
        let now = Int64(ClusterMachine.wallStartMilliseconds + now / 1_000)
        guard abs(time - now) > ClusterWorld.apartMilliseconds else { return }
        fail(
            .times,
            "n\(index + 1) accepts a message \((time - now) / 1_000) s from now, with a clock that "
                + "is right")
    }
}
