// Bytes from a TLS server, up to the point where it would need the client's keys. Any segmentation gives the same
// result, and never a completed handshake.

import Crypto
import DNSWire
import TestSupport

extension FuzzEntry {
    package static let tlsFlight = FuzzEntry(name: "TLSFlight") { bytes in
        let whole = heard(bytes, cut: max(1, bytes.count))
        precondition(heard(bytes, cut: 1) == whole, "the same outcome in single bytes")
        if case .done = whole { preconditionFailure("nobody can sign what we have just made up") }
    }

    /// The last progress that the handshake reports.
    private static func heard(_ bytes: [UInt8], cut: Int) -> TLSHandshake.Progress {
        do throws(CryptoError) {
            // A context serves one thread, and so one run. It has one authority, because the system's take long to
            // read.
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
