// Files of names that are watched together. A change of the list of files begins another watch.

import LinuxIO

final class WatchedFiles {
    private let loop: EventLoop
    private let seesWrites: Bool
    private var watch: FileWatch?
    private var registration: EventLoop.Registration?

    /// - Parameter seesWrites: a write is a change; otherwise a file has changed when its writer closes or replaces it.
    init(_ loop: EventLoop, seesWrites: Bool) { (self.loop, self.seesWrites) = (loop, seesWrites) }

    /// - Parameter take: called with the files that have changed.
    /// - Returns: the paths that may have changed between their reading and the begin of a new watch.
    /// - Throws: if the kernel allows no watch.
    func watch(_ paths: [String], _ take: @escaping (Set<String>) -> Void) throws(SystemError) -> Set<String> {
        guard paths != watch?.paths ?? [] else { return [] }
        let former = watch
        if let registration { loop.unwatch(registration) }
        (watch, registration) = (nil, nil)
        if !paths.isEmpty {
            let new = try FileWatch(paths, seesWrites: seesWrites, isUsed: LocalNameFile.isUsed)
            registration = try loop.watch(new.descriptor, for: .readable) { [unowned new] _ in
                if let changed = try? new.takeChangedPaths(), !changed.isEmpty { take(changed) }
            }
            watch = new
        }
        return Set(paths).subtracting(former?.paths ?? []).union((try? former?.takeChangedPaths()) ?? [])
    }
}
