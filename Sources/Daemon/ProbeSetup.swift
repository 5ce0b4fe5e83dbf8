// What the settings about probes come to. Made when they are read, so that what is wrong with a file is said then.

package import Crypto
package import Settings

package struct ProbeSetup {
    /// Nil: no probe can be made.
    let terms: ProbeConnection.Terms?
    /// Why nothing can be verified though the settings ask for it, and what to do about it; nil: nothing is wrong.
    let problem: String?

    static var off: ProbeSetup { ProbeSetup(terms: nil, problem: nil) }

    /// Reads the file of authorities, or the system's.
    ///
    /// - Throws: when `caFile` can't be used.
    package init(_ settings: Settings.Probe) throws(CryptoError) {
        guard settings.enabled else {
            self = .off
            return
        }
        // What HTTP/2 would make of the request is another protocol's business.
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
        "no certificate authority is known, so that no address can be verified; install ca-certificates, or set "
        + "ca-file under [probe]"
}
