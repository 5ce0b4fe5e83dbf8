// Owner of one open descriptor. No other type closes descriptors.

import Glibc

package struct FileDescriptor: ~Copyable, Sendable {
    /// For system calls and for `EventLoop`. Valid as long as the owner lives; never to be closed by the borrower.
    package let raw: Int32

    /// Takes ownership of an open descriptor.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a failed call gave no descriptor")
        self.raw = raw
    }

    /// The result is not looked at: Linux has released the number even when close reports an error, and EINTR must
    /// not be retried because the number may be in use again.
    deinit {
        _ = close(raw)
    }
}
