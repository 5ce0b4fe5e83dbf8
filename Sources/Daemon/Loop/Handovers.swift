// The items that serving threads hand over to the main loop. They are taken from the mailbox at once and handled later
// in the turn: kernel events about the network come first.

import LinuxIO
import Serving

final class Handovers {
    private let mailbox: Mailbox<Notice>
    private var notices: [Notice] = []

    init(_ mailbox: Mailbox<Notice>, _ loop: EventLoop) throws(SystemError) {
        self.mailbox = mailbox
        _ = try loop.watch(mailbox.descriptor, for: .readable) { [unowned self] _ in receive() }
    }

    private func receive() {
        let new = mailbox.takeAll()
        if notices.isEmpty { notices = new } else { notices += new }
    }

    func takeAll(_ handle: (Notice) -> Void) {
        guard !notices.isEmpty else { return }
        for notice in exchange(&notices, with: []) { handle(notice) }
    }
}
