// Bytes from a TLS server, up to where it would have to know our keys. However they are cut, they lead to the same, and
// never to a handshake that is done.

import Crypto
import DNSWire
import TestSupport

extension FuzzEntry {
    package static let tlsFlight = FuzzEntry(name: "TLSFlight") { bytes in
        let whole = heard(bytes, cut: max(1, bytes.count))
        precondition(heard(bytes, cut: 1) == whole, "the same outcome in single bytes")
        if case .done = whole { preconditionFailure("nobody can sign what we have just made up") }
    }

    /// The last that was said.
    private static func heard(_ bytes: [UInt8], cut: Int) -> TLSHandshake.Progress {
        do throws(CryptoError) {
            // For one thread, and so for one run. With one authority, because the system's take long to read.
            let context = try TLSContext(caFile: authority, protocols: ["h2", "http/1.1"])
            var client = try TLSHandshake(context, name: "www.example.com", nowSeconds: 0)
            var progress = TLSHandshake.Progress.underWay
            for start in stride(from: 0, to: bytes.count, by: cut) {
                progress = client.receive(bytes[start..<min(start + cut, bytes.count)].span)
                _ = client.takeOutgoing()
            }
            return progress
        } catch {
            preconditionFailure(error.text)
        }
    }

    private static let authority = TestFile.folder(of: TestFile.folder(of: #filePath)) + "/authority.pem"
}
