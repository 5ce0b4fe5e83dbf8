// The meaning of the answers, in a few lines that are shown before the file is written.

import Control
import DNSWire

struct SetupSummary {
    /// The rows, each with label and value.
    let rows: [[String]]

    init(_ answers: SetupAnswers, former: String?, leftOut: [String]) {
        let companies = (answers.providers ?? []).map(\.company) + [answers.service?.company].compactMap(\.self)
        let nameservers = "the network's nameservers"
        var rows =
            companies.isEmpty
            ? [["names go to", "\(nameservers) only"]]
            : [
                ["names go to", companies.withoutRepetition.joined(separator: ", ")], ["last resort", nameservers],
            ]
        let blocks = (answers.providers ?? []).map(\.blocks)
        if blocks.contains(true), blocks.contains(false) || answers.service != nil {
            let note = "what one provider blocks, others resolve: choose only those that block, or none of them"
            rows.append(["note", note])
        }
        if let service = answers.service {
            let id = answers.accountID.map { ", id \($0)" } ?? ""
            let file = answers.shownKeyFile.map { ", key in \($0)\(answers.key == nil ? "" : " (new)")" } ?? ""
            rows.append(["account", service.name + id + file])
        }
        let listen = (answers.lan ?? []).map(\.listen.description).joined(separator: ", ")
        let networks = answers.networks.map(\.description).joined(separator: ", ")
        rows.append(["clients", listen.isEmpty ? "this machine" : "this machine, and \(networks) at \(listen)"])
        if let takesOver = answers.takesOver { rows.append(["take over", takesOver ? "yes" : "no"]) }
        if let former { rows.append(["former file", "kept as \(former)"]) }
        for (index, words) in leftOut.enumerated() { rows.append([index == 0 ? "left out of it" : "", words]) }
        self.rows = rows
    }
}
