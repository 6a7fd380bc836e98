import CLibuv
import Glibc

extension Connection {
    /// Connects to an address; `then` is called once, in a later turn of the loop.
    ///
    /// The connection reads nothing until its delegate is set. Where the loop stops first, `then`
    /// is called with a failure.
    package static func dial(
        _ address: SocketAddress, on loop: EventLoop, timeoutMilliseconds: UInt64,
        then: @escaping (Result<Connection, NetworkError>) -> Void
    ) {
        loop.checkConfined()
        Dial(address, on: loop, then).start(timeoutMilliseconds: timeoutMilliseconds)
    }
}

/// An attempt to connect.
///
/// A failure is reported after the socket is closed, so that a caller that tries again never holds
/// two sockets.
private final class Dial: LoopHandle {
    private let address: SocketAddress
    private var then: ((Result<Connection, NetworkError>) -> Void)?
    private var deadline: Timer?
    private var failure: NetworkError

    init(
        _ address: SocketAddress, on loop: EventLoop,
        _ then: @escaping (Result<Connection, NetworkError>) -> Void
    ) {
        self.address = address
        self.then = then
        failure = NetworkError(UV_ECANCELED.rawValue, doing: "dialling \(address)")
        super.init(owning: Self.allocateTCP(on: loop), on: loop)
    }

    private var tcp: UnsafeMutablePointer<uv_tcp_t> {
        memory.assumingMemoryBound(to: uv_tcp_t.self)
    }

    func start(timeoutMilliseconds: UInt64) {
        let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        let code = address.withPointer { name in
            uv_tcp_connect(request, tcp, name) { request, status in
                guard let request, let data = request.pointee.handle.pointee.data else { return }
                request.deallocate()
                Unmanaged<Dial>.fromOpaque(data).takeUnretainedValue().onAnswer(status)
            }
        }
        guard code == 0 else {
            request.deallocate()
            return fail(NetworkError(code, doing: "dialling \(address)"))
        }
        deadline = Timer(on: loop, afterMilliseconds: timeoutMilliseconds) { [self] in
            fail(.timedOut)
        }
    }

    private func onAnswer(_ status: Int32) {
        guard !isClosing else { return }
        do throws(NetworkError) {
            try NetworkError.check(status, doing: "dialling \(address)")
            try Connection.setOptions(memory)
            try refuseItself()
        } catch {
            return fail(error)
        }
        deadline?.cancel()
        let answer = then
        then = nil
        answer?(.success(Connection(owning: surrender(), peer: address, on: loop)))
    }

    /// Refuses a connection to itself, which TCP makes when the kernel picks the dialled port as
    /// the local one.
    private func refuseItself() throws(NetworkError) {
        let own = try SocketAddress(doing: "asking for the own address") {
            uv_tcp_getsockname(tcp, $0, $1)
        }
        if own == address { throw .refused }
    }

    private func fail(_ error: NetworkError) {
        guard !isClosing else { return }
        failure = error
        closeHandle()
    }

    override func handleDidClose() {
        deadline?.cancel()
        deadline = nil
        let answer = then
        then = nil
        answer?(.failure(failure))
    }
}
