// `stats --watch`: prints the counters that changed, each second, until Ctrl-C.

import Control
import DNSWire
import LinuxIO

struct StatsWatch {
    let socket: String
    let wantsJSON: Bool

    func run() throws(SystemError) {
        let snapshots = Snapshots(line: "\(Command.Word.stats) --json", socket: socket)
        guard var earlier = StatsChanges(json: snapshots.first()) else {
            fail("can't parse the daemon's answer", Exit.failed)
        }
        var earlierAt = Clock.now()
        var isAnswering = true
        let ticker = try Ticker(ofScreen: false)
        while true {
            let deadline = Clock.now() + Snapshots.interval
            while try ticker.wait(until: deadline) {}
            guard !ticker.isOver else { return }
            let answer = try? snapshots.look()
            guard let later = answer.flatMap({ StatsChanges(json: $0) }) else {
                if isAnswering { StandardStreams.writeError("httpdnsctl: no answer from the daemon; trying again\n") }
                isAnswering = false
                continue
            }
            let now = Clock.now()
            isAnswering = true
            if later.hasBegunAnew(since: earlier) {
                StandardStreams.writeError("httpdnsctl: the daemon was restarted\n")
            } else {
                show(later.since(earlier, seconds: earlierAt.duration(to: now).seconds))
            }
            (earlier, earlierAt) = (later, now)
        }
    }

    private func show(_ changes: [StatsChange]) {
        let time = Clock.wallMilliseconds()
        StandardStreams.writeOutput(
            wantsJSON ? StatsChange.object(changes, at: time) : StatsChange.text(changes, at: time))
    }
}
