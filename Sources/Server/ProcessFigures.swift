import CSystem
import Node
import Storage

extension ProcessUsage {
    /// Of this process, at this moment; what the system does not tell is 0.
    init(startedAtMilliseconds: UInt64) {
        let usage = csystem_usage()
        self.init(
            residentBytes: UInt64(max(0, usage.resident_bytes)),
            virtualBytes: UInt64(max(0, usage.virtual_bytes)),
            cpuMicroseconds: UInt64(max(0, usage.cpu_microseconds)),
            openDescriptors: UInt64(max(0, usage.open_descriptors)),
            descriptorsMax: UInt64(max(0, usage.descriptors_max)),
            startedAtMilliseconds: startedAtMilliseconds)
    }
}

extension Limit {
    /// What the process limits beside its node: one line here is one line of `HELP limits`.
    static let ofTheProcess: [Limit] = [
        Limit(
            "clients", HostLimits.clientsMax, "connections; fewer where descriptors are",
            "429, and the connection is closed"),
        Limit(
            "inbound-peers", HostLimits.inboundPeersMax, "connections that other nodes dialled",
            "closed"),
        Limit(
            "farewells", HostLimits.lingeringClosesMax,
            "connections that are told why they are closed",
            "closed without a word"),
        Limit(
            "transaction-rows", Writer.rowsPerTransactionMax, "rows",
            "the rest is in the next transaction"),
        Limit(
            "dial", NodeHost.dialMillisecondsMax, "milliseconds",
            "given up, and tried again shortly"),
        Limit(
            "ending", NodeHost.endingMillisecondsMax, "milliseconds",
            "what is left is cut short"),
    ]

    /// What those are limited to who have not proved that they know the key.
    static let ofUnauthenticated: [Limit] = [
        Limit(
            "strangers", NodeHost.unauthenticatedMax, "clients that have not signed in",
            "the oldest is closed"),
        Limit(
            "sign-in", NodeHost.signInMillisecondsMax, "milliseconds",
            "401, and the connection is closed"),
    ]
}
