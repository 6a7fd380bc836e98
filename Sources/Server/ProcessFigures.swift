import CSystem
import Gateway
import HTTP
import Node
import Storage

extension ProcessUsage {
    /// Reads the usage of this process; values that the system does not give are 0.
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
    /// The limits of the process beside those of its node: an entry here is a line of
    /// `HELP limits`.
    static let ofTheProcess: [Limit] = [
        Limit(
            "clients", HostLimits.clientsMax, "connections; fewer where descriptors are",
            "429, and the connection is closed"),
        Limit(
            "inbound-peers", HostLimits.inboundPeersMax, "connections that other nodes dialled",
            "closed"),
        Limit(
            "lingering-closes", HostLimits.lingeringClosesMax,
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

    /// The limits for clients that have not signed in.
    static let ofUnauthenticated: [Limit] = [
        Limit(
            "unauthenticated-clients", NodeHost.unauthenticatedMax,
            "clients that have not signed in",
            "the oldest is closed"),
        Limit(
            "sign-in", NodeHost.signInMillisecondsMax, "milliseconds",
            "401, and the connection is closed"),
    ]

    static let ofApps: [Limit] = [
        Limit(
            "http-body", AppLimits.bodyBytesMax, "bytes of a request's body or message",
            "413, or the close code 1009, and the connection is closed"),
        Limit(
            "http-answer", AppLimits.answerBytesMax, "bytes of an answer",
            "413: ask for less of it"),
        Limit(
            "http-request", AppLimits.requestMillisecondsMax, "milliseconds for a request",
            "408, and the connection is closed"),
        Limit(
            "http-idle", AppLimits.idleMillisecondsMax, "milliseconds without a request",
            "the connection is closed"),
        Limit(
            "http-stalled", AppLimits.stalledMillisecondsMax,
            "milliseconds in which a client reads nothing", "the connection is closed"),
        Limit(
            "http-pace", AppLimits.paceBytesPerSecond,
            "bytes a second that a client reads at least, over 90 s", "the connection is closed"),
        Limit(
            "http-silent", AppLimits.silentMillisecondsMax,
            "milliseconds in which a WebSocket answers no ping", "the connection is closed"),
        Limit(
            "http-waiting", AppLimits.waitingRequestsMax,
            "requests of a WebSocket that wait for their answers",
            "no more are read until some are answered"),
        Limit("http-token", AccessToken.bytesMax, "bytes of an access token", "401"),
        Limit(
            "http-head", HTTPLimits.headBytesMax, "bytes of a request's line and fields",
            "414 or 431, and the connection is closed"),
    ]

    static let ofOps: [Limit] = [
        Limit(
            "ops-connections", OpsPort.connectionsMax, "connections to the port of --ops",
            "a further one is closed"),
        Limit(
            "ops-unread", OpsConnection.queuedBytesMax, "bytes that such a client has not read",
            "no more requests are answered until it reads"),
        Limit(
            "ops-request", OpsConnection.requestMillisecondsMax, "milliseconds for a request",
            "408, and the connection is closed"),
        Limit(
            "ops-idle", OpsConnection.idleMillisecondsMax, "milliseconds without a request",
            "the connection is closed"),
        Limit(
            "ops-head", HTTPLimits.headBytesMax, "bytes of a request's line and fields",
            "414 or 431, and the connection is closed"),
    ]
}
