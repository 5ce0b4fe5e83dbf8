// Probe settings, prepared when the settings are read, so that errors in a file are reported then.

package import Crypto
package import Settings

package struct ProbeSetup {
    /// The terms of probes; nil: probes cannot be made.
    let terms: ProbeConnection.Terms?
    /// Why nothing can be verified although the settings ask for it, and the remedy; nil if all is well.
    let problem: String?

    static var off: ProbeSetup { ProbeSetup(terms: nil, problem: nil) }

    /// Reads the configured file of certificate authorities, or the system's.
    ///
    /// - Throws: when `caFile` can't be used.
    package init(_ settings: Settings.Probe) throws(CryptoError) {
        guard settings.enabled else {
            self = .off
            return
        }
        // The probe's request is HTTP/1.1; it does not speak HTTP/2.
        let protocols = settings.http ? ["http/1.1"] : ["h2", "http/1.1"]
        let context = try TLSContext(caFile: settings.caFile, protocols: protocols)
        guard context.hasAuthorities else {
            self.init(terms: nil, problem: ProbeSetup.noAuthorities)
            return
        }
        self.init(
            terms: ProbeConnection.Terms(context: context, timeout: settings.timeout, sendsRequest: settings.http),
            problem: nil)
    }

    private init(terms: ProbeConnection.Terms?, problem: String?) {
        self.terms = terms
        self.problem = problem
    }

    private static let noAuthorities =
        "no CA certificates found, so no address can be verified; install ca-certificates, or set "
        + "ca-file under [probe]"
}
