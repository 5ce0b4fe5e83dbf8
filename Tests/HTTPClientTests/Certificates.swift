// A certificate authority for one test, and its certificates. The files lie in a folder that is removed with the value.

import Glibc
import TestSupport

final class Certificates: Sendable {
    let folder: String

    var caFile: String { folder + "/ca.pem" }

    init() {
        folder = TemporaryFolder.make()
        // If root starts nginx, it serves files as another user.
        unsafe chmod(folder, 0o755)
        Command.run("openssl", selfSigned("ca") + ["-subj", "/CN=Test CA"])
    }

    deinit {
        Command.run("rm", ["-r", folder])
    }

    /// - Parameter alternative: the name or address of the certificate, as "DNS:name" or "IP:address".
    @discardableResult
    func make(_ name: String, for alternative: String) -> TLSIdentity {
        let subject = ["-subj", "/CN=\(name)", "-addext", "subjectAltName=\(alternative)"]
        Command.run("openssl", selfSigned(name) + ["-CA", caFile, "-CAkey", "\(folder)/ca.key"] + subject)
        return identity(name)
    }

    func makeExpired(_ name: String) -> TLSIdentity {
        let path = "\(folder)/\(name)"
        let subject = ["-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)"]
        Command.run("openssl", ["req", "-new"] + newKey(name) + subject + ["-out", path + ".csr"])
        Command.run(
            "openssl",
            ["x509", "-req", "-in", path + ".csr", "-out", path + ".pem", "-days", "-1", "-copy_extensions", "copy"]
                + ["-CA", caFile, "-CAkey", "\(folder)/ca.key", "-CAcreateserial"])
        return identity(name)
    }

    private func identity(_ name: String) -> TLSIdentity {
        TLSIdentity(certificateFile: "\(folder)/\(name).pem", keyFile: "\(folder)/\(name).key")
    }

    private func selfSigned(_ name: String) -> [String] {
        ["req", "-x509", "-days", "2", "-out", "\(folder)/\(name).pem"] + newKey(name)
    }

    private func newKey(_ name: String) -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "\(folder)/\(name).key"]
    }
}
