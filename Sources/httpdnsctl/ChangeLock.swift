// The lock of a directory whose files an httpdnsctl changes. Other processes of httpdnsctl wait for it.

import DNSWire
import LinuxIO

enum ChangeLock {
    private static let betweenTries = Duration.milliseconds(100)
    private static let unannounced = Duration.seconds(2)

    /// Creates the directory if it is missing, and locks it until the process ends or the returned lock is released.
    /// Exits if another process holds the lock for longer than `patience`. Says that it waits after two seconds.
    ///
    /// - Parameter patience: how long to wait while another process holds the lock.
    static func take(_ directory: String, patience: Duration) throws(SystemError) -> DirectoryLock {
        let began = Clock.now()
        var isAnnounced = false
        while true {
            try FileReplacement.makeDirectory(directory)
            do throws(SystemError) {
                return try DirectoryLock(directory)
            } catch {
                // A process that finishes may remove the directory, possibly between `makeDirectory` and the lock.
                guard DirectoryLock.isTaken(error) || error.isNoSuchFile else { throw error }
            }
            let other = "another httpdnsctl is changing files in \(directory)"
            let waited = Clock.now() - began
            guard waited < patience else { fail("\(other); try again when it has ended", Exit.failed) }
            if waited > unannounced, !isAnnounced {
                StandardStreams.writeError("httpdnsctl: \(other); waiting\n")
                isAnnounced = true
            }
            wait(betweenTries)
        }
    }

    /// Waits in an event loop. A signal still ends the program.
    static func wait(_ duration: Duration) {
        let deadline = Clock.now() + duration
        guard let loop = try? EventLoop() else { return }
        while Clock.now() < deadline, (try? loop.turn(until: deadline)) != nil {}
    }
}
