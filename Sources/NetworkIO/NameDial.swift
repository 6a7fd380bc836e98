import CLibuv

extension Connection {
    /// Connects to an endpoint, whose name, if it has one, is looked up first; `then` is called
    /// once, in a later turn of the loop.
    ///
    /// A name may have several addresses: they are tried in the resolver's order, and the last
    /// failure is reported. A name without an address is reported as a failure too.
    package static func dial(
        _ endpoint: Endpoint, on loop: EventLoop, timeoutMilliseconds: UInt64,
        then: @escaping (Result<Connection, NetworkError>) -> Void
    ) {
        switch endpoint.place {
        case .address(let address):
            dial(address, on: loop, timeoutMilliseconds: timeoutMilliseconds, then: then)
        case .name(let name):
            loop.checkConfined()
            NameDial(endpoint, on: loop, timeoutMilliseconds: timeoutMilliseconds, then)
                .start(name)
        }
    }
}

/// An attempt to connect to a host by its name.
///
/// The handle is the timer that bounds the lookup; the dials that follow share the time that is
/// left.
private final class NameDial: LoopHandle {
    /// The most addresses of one name that are tried; each gets a share of the time.
    private static let addressesMax = 4

    private let endpoint: Endpoint
    private let deadline: UInt64
    private var then: ((Result<Connection, NetworkError>) -> Void)?
    private var failure: NetworkError

    init(
        _ endpoint: Endpoint, on loop: EventLoop, timeoutMilliseconds: UInt64,
        _ then: @escaping (Result<Connection, NetworkError>) -> Void
    ) {
        self.endpoint = endpoint
        self.then = then
        deadline = loop.nanoseconds + timeoutMilliseconds * 1_000_000
        failure = NetworkError(UV_ECANCELED.rawValue, doing: "dialling \(endpoint)")
        let memory = Self.allocate(UV_TIMER)
        let timer = memory.assumingMemoryBound(to: uv_timer_t.self)
        uv_timer_init(loop.raw, timer)
        super.init(owning: memory, on: loop)
        uv_update_time(loop.raw)
        uv_timer_start(
            timer,
            { timer in
                guard let data = timer?.pointee.data else { return }
                Unmanaged<NameDial>.fromOpaque(data).takeUnretainedValue().fail(.timedOut)
            }, timeoutMilliseconds, 0)
    }

    func start(_ name: String) {
        loop.lookups.find(name, of: endpoint, on: loop) { [self] answer in
            guard !isClosing else { return }
            switch answer {
            case .success(let addresses): dial(addresses.prefix(Self.addressesMax))
            case .failure(let error): fail(error)
            }
        }
    }

    /// Dials the addresses; the timer of the lookup is closed, since each dial has its own.
    private func dial(_ addresses: ArraySlice<SocketAddress>) {
        guard let then else { return }
        self.then = nil
        closeHandle()
        Self.dial(addresses, on: loop, until: deadline, then)
    }

    private static func dial(
        _ addresses: ArraySlice<SocketAddress>, on loop: EventLoop, until deadline: UInt64,
        _ then: @escaping (Result<Connection, NetworkError>) -> Void
    ) {
        var rest = addresses
        guard let address = rest.popFirst() else {
            preconditionFailure("a name that was found has an address")
        }
        let left = deadline - min(deadline, loop.nanoseconds)
        let share = left / UInt64(addresses.count) / 1_000_000
        Connection.dial(address, on: loop, timeoutMilliseconds: max(1, share)) {
            [rest] result in
            if case .failure = result, !rest.isEmpty {
                dial(rest, on: loop, until: deadline, then)
            } else {
                then(result)
            }
        }
    }

    private func fail(_ error: NetworkError) {
        guard !isClosing else { return }
        failure = error
        closeHandle()
    }

    override func handleDidClose() {
        let answer = then
        then = nil
        answer?(.failure(failure))
    }
}
