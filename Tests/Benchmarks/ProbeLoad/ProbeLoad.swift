// The load of `scripts/bench probe`: the daemon's own probes of a list of targets, repeated, as many at once as the
// daemon allows, and their results and costs. The resolver, which would spread the probes over hours, takes no part.

import Daemon
import DNSWire
import Glibc
import LinuxIO
import Resolver
import Settings

/// `probe-load TARGETS COUNT AUTHORITIES ATONCE`: a file with lines "NAME ADDRESS PORT"; a PEM file.
///
/// Prints a line for each verdict with how often it was found, and then
///
///     probes COUNT
///     seconds SECONDS
///     cpu-ms MILLISECONDS     of this process, for each probe
///     p50-ms MILLISECONDS     of the handshakes
///     p99-ms MILLISECONDS
@main
enum ProbeLoad {
    private static let maxTargetsBytes = 1 << 20

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let count = Int(arguments[2]), let atOnce = Int(arguments[4]), atOnce > 0 else {
            return complain("usage: probe-load TARGETS COUNT AUTHORITIES ATONCE")
        }
        let text = String(decoding: try TextFile.read(arguments[1], maxBytes: maxTargetsBytes), as: UTF8.self)
        let targets = text.split(separator: "\n").compactMap(target)
        guard !targets.isEmpty else { return complain("no targets in \(arguments[1])") }
        let loop = try EventLoop()
        let probes = Probes(loop: loop)
        var settings = Settings.Probe()
        settings.caFile = arguments[3]
        probes.configure(try ProbeSetup(settings))
        var run = ProbeRun(targets, count: count, atOnce: atOnce)
        let cpu = processSeconds()
        let begin = Clock.now()
        while run.fill(probes, now: Clock.now()) {
            try loop.turn(until: probes.hasFinished ? Clock.now() : probes.nextDeadline)
            probes.timePassed(now: Clock.now())
            run.take(probes)
        }
        let seconds = begin.duration(to: Clock.now()) / .seconds(1)
        print(run.report(seconds: seconds, cpuSeconds: processSeconds() - cpu))
    }

    private static func target(_ line: Substring) -> ProbeTarget? {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 3, let name = Name(words[0]), let address = Address(words[1]), let port = UInt16(words[2])
        else { return nil }
        return ProbeTarget(name, address, port: port)
    }

    private static func processSeconds() -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func complain(_ text: String) {
        var bytes = Array("probe-load: \(text)\n".utf8)
        _ = unsafe write(STDERR_FILENO, &bytes, bytes.count)
        exit(1)
    }
}
