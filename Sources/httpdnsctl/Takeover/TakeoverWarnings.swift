// What `system use` warns of before a takeover. As all its texts, the warnings are English.

extension Survey {
    /// Returns warnings about programs that a takeover does not stop.
    func warnings(_ manager: ResolvConfWriter) -> [String] {
        var warnings = rewriters.filter { $0.program != manager.rawValue }.map { rewriter in
            "\(rewriter.text.english); \(rewriter.remedy.english)"
        }
        guard manager == .plainFile else { return warnings }
        if has("/lib/resolvconf/libc") {
            warnings.append(
                "openresolv writes resolv.conf when an interface reports nameservers; run \"resolvconf -u\" first")
        }
        if mountPoints.contains(SystemPaths.resolvConf) {
            warnings.append(
                has("/.dockerenv")
                    ? "Docker creates resolv.conf for each container; set the daemon with docker run --dns instead"
                    : "resolv.conf is a mount: the mounted file is overwritten")
        }
        return warnings
    }
}
