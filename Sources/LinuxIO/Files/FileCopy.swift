// Copies a file in pieces, so that a large one takes no memory. The copy replaces an older one atomically.

import DNSWire
import Glibc

package enum FileCopy {
    /// Copies the file. Does nothing if the copy has the same bytes already.
    ///
    /// - Parameter unfinished: path of the temporary file, in the directory of the copy.
    /// - Returns: the number of bytes.
    /// - Throws: as `TextFile.read` and `FileReplacement.put`; EFBIG if the file has more than `maxBytes` bytes.
    @discardableResult
    package static func renew(
        _ copy: String, of path: String, maxBytes: Int, by unfinished: String
    ) throws(SystemError) -> Int {
        let (digest, count) = try contents(of: path, maxBytes: maxBytes)
        if let old = try? contents(of: copy, maxBytes: count), old == (digest, count) { return count }
        try FileReplacement.remove(unfinished)
        let file = try NewFile.create(unfinished)
        var failure: SystemError?
        try TextFile.readPieces(path, maxBytes: maxBytes) { piece in
            guard failure == nil else { return }
            do throws(SystemError) {
                try FileReplacement.write(piece, to: file)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        try SystemCall.run("fsync") { fsync(file.raw) }
        try FileReplacement.move(unfinished, to: copy)
        return count
    }

    private static func contents(of path: String, maxBytes: Int) throws(SystemError) -> (StableDigest, Int) {
        var (digest, count) = (StableDigest(), 0)
        try TextFile.readPieces(path, maxBytes: maxBytes) { piece in
            digest.add(piece)
            count += piece.count
        }
        return (digest, count)
    }
}
