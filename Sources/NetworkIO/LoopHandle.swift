import CLibuv

/// An object that owns one libuv handle, and that its loop keeps alive until the handle is closed.
///
/// libuv writes into a handle's memory until the close callback, so the memory is allocated on its
/// own and freed there and nowhere else, and the handle keeps a strong reference to this object
/// until then. No other reference is needed.
package class LoopHandle {
    package let loop: EventLoop
    let memory: UnsafeMutableRawPointer

    /// Once true, `memory` belongs to libuv and may be gone: no call may be made on it.
    private(set) var isClosing = false

    var base: UnsafeMutablePointer<uv_handle_t> {
        memory.assumingMemoryBound(to: uv_handle_t.self)
    }

    /// Takes over a handle that libuv has initialised on this loop.
    init(owning memory: UnsafeMutableRawPointer, on loop: EventLoop) {
        self.loop = loop
        self.memory = memory
        base.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    /// Called once, after libuv has let go of the handle; for subclasses.
    func handleDidClose() {}

    /// Called for every open handle when the loop has been stopped; for subclasses.
    func loopDidStop() { closeHandle() }

    final func closeHandle() {
        loop.checkConfined()
        guard !isClosing else { return }
        isClosing = true
        uv_close(base) { handle in
            guard let handle, let data = handle.pointee.data else { return }
            let owner = Unmanaged<LoopHandle>.fromOpaque(data).takeRetainedValue()
            owner.memory.deallocate()
            owner.handleDidClose()
        }
    }

    /// Gives up the open handle, which the `init(owning:on:)` of its new owner takes over.
    final func surrender() -> UnsafeMutableRawPointer {
        precondition(!isClosing, "a handle that is closing belongs to libuv")
        isClosing = true
        Unmanaged.passUnretained(self).release()
        return memory
    }

    /// Memory for a handle of this kind, not initialised.
    static func allocate(_ kind: uv_handle_type) -> UnsafeMutableRawPointer {
        .allocate(byteCount: uv_handle_size(kind), alignment: 16)
    }

    /// A TCP handle without a socket yet.
    static func allocateTCP(on loop: EventLoop) -> UnsafeMutableRawPointer {
        let memory = allocate(UV_TCP)
        let code = uv_tcp_init(loop.raw, memory.assumingMemoryBound(to: uv_tcp_t.self))
        precondition(code == 0, "a handle without a socket can always be made")
        return memory
    }

    /// Closes an initialised handle that never got an owner.
    static func discard(_ memory: UnsafeMutableRawPointer) {
        let handle = memory.assumingMemoryBound(to: uv_handle_t.self)
        handle.pointee.data = nil
        uv_close(handle) { handle in UnsafeMutableRawPointer(handle)?.deallocate() }
    }
}
