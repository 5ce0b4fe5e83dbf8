// A message between the daemon and the helper for nftables sets, in either direction. An accepted message is the same
// after it is written and read again.

import DNSWire
import SetFeed

extension FuzzEntry {
    package static let setMessage = FuzzEntry(name: "SetMessage") { bytes in
        if let request = SetRequest(bytes) {
            precondition(request.bytes == bytes, "a request has one form")
            precondition(request.elements.count <= SetRequest.maxElements, "no more elements than allowed")
            precondition(AddressSet(request.set.description) == request.set, "the set has the name that was sent")
        }
        if let reply = SetReply(bytes) {
            precondition(SetReply(reply.bytes) == reply, "a reply survives the way")
        }
    }
}
