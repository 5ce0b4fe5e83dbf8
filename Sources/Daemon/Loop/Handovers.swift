// The items that serving threads hand over to the main loop. They are taken from the mailbox at once and handled later
// in the turn: kernel events about the network come first.

import LinuxIO
import Serving

final class Handovers {
    private let mailbox: Mailbox<Notice>
    private var notices: [Notice] = []

    init(_ mailbox: Mailbox<Notice>, _ loop: EventLoop) throws(SystemError) {
        self.mailbox = mailbox
        _ = try loop.watch(mailbox.descriptor, for: .readable) { [unowned self] _ in notices += self.mailbox.takeAll() }
    }

    func takeAll(_ handle: (Notice) -> Void) {
        defer { notices.removeAll(keepingCapacity: true) }
        for notice in notices { handle(notice) }
    }
}
