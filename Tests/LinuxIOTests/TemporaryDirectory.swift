// A directory of its own for each test; it is removed with its contents.

import DNSWire
import Glibc
import TestSupport

@testable import LinuxIO

final class TemporaryDirectory {
    let path: String

    init() {
        path = TemporaryFolder.make()
    }

    deinit {
        TemporaryDirectory.remove(path)
    }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Writes to the existing file, as `>` does in a shell.
    func write(_ text: String, to name: String) {
        let descriptor = unsafe open(self(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        precondition(descriptor >= 0, "cannot write \(name)")
        let bytes = Array(text.utf8)
        precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count, "cannot write \(name)")
        close(descriptor)
    }

    func makeDirectory(_ name: String) { precondition(unsafe mkdir(self(name), 0o755) == 0, "mkdir \(name)") }

    func link(_ name: String, to target: String) {
        precondition(unsafe symlink(target, self(name)) == 0, "symlink \(name)")
    }

    func move(_ name: String, over other: String) {
        precondition(unsafe rename(self(name), self(other)) == 0, "rename \(name)")
    }

    private static func remove(_ path: String) {
        for name in Directory.names(in: path) {
            let inner = path + "/" + name
            if unsafe unlink(inner) != 0 { remove(inner) }
        }
        _ = unsafe rmdir(path)
    }
}

/// The longest wait, enough for a machine under load; a test that reaches it fails.
let patience: Duration = .seconds(20)

/// Waits until the descriptor is ready; returns false after `patience`.
func becomesReady(_ descriptor: Int32, for events: Int32 = POLLIN) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return unsafe poll(&entry, 1, Int32(patience.wholeSeconds) * 1000) == 1
}
