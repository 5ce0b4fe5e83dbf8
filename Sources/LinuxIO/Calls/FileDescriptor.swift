// Owner of one open descriptor. No other type closes descriptors.

import Glibc

package struct FileDescriptor: ~Copyable, Sendable {
    /// The descriptor's number, for system calls and for `EventLoop`. Valid as long as the owner lives; the borrower
    /// must not close it.
    package let raw: Int32

    /// Takes ownership of an open descriptor.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a failed call gave no descriptor")
        self.raw = raw
    }

    /// Ignores the result of close: Linux has released the number even if close reports an error. EINTR must not be
    /// retried, because the number may be in use again.
    deinit {
        _ = close(raw)
    }
}
