import Glibc

/// The body of a thread, retained until the thread has begun.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs a body on a new thread.
///
/// - Returns: the thread, which the caller has to join or detach.
/// - Throws: where the system has no thread left.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(NetworkError) -> pthread_t {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(ThreadBody(body))
    // `@Sendable`, so that the closure never takes on a caller's actor (it runs elsewhere).
    let code = pthread_create(
        &thread, nil,
        { @Sendable context in
            guard let context else { return nil }
            Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context.toOpaque())
    guard code == 0 else {
        context.release()
        throw NetworkError(-code, doing: "starting a thread")
    }
    return thread
}

/// Runs a body on a new thread, which nothing waits for.
///
/// - Returns: false where the system has no thread left.
package func launchThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    do throws(NetworkError) {
        pthread_detach(try startThread(body))
        return true
    } catch {
        return false
    }
}
