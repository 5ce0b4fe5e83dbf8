// The tables at the top of the settings file, in the order of a written file. The parser, the writer and complaints
// about unknown keys use this list.

extension Settings {
    struct FileTable: Sendable {
        let name: String
        /// The table's header: "[server]" or "[[rule]]".
        let header: String
        let keys: [(name: String, mayBeSecret: Bool)]
        let schema: @Sendable () -> ValueSchema
        /// Reads the table into the settings.
        let read: @Sendable (inout SettingsErrors, TOMLNode, _ root: TOMLNode, inout Settings) -> Void
        /// Returns the text of the table, or of each table of an array.
        let write: @Sendable (Settings) -> [String]

        /// - Parameter isWritten: whether a written file has the table.
        fileprivate init<Table: KeyedTable>(
            _ name: String, _ path: any WritableKeyPath<Settings, Table> & Sendable,
            isWritten: @escaping @Sendable (Table) -> Bool = { _ in true }
        ) {
            let header = "[\(name)]"
            self.init(
                name, header, Table.keys, schema: { Table.schema(Settings.defaults[keyPath: path]) },
                read: { $0.read($1, in: name, into: &$3[keyPath: path]) },
                write: { isWritten($0[keyPath: path]) ? [Settings.section(header, $0[keyPath: path])] : [] })
        }

        /// - Parameters:
        ///   - counts: the bounds of the number of tables.
        ///   - schema: the schema of a table.
        ///   - write: returns the text of a table; nil: only its own keys.
        ///   - read: reads the array; also takes the root of the document.
        fileprivate init<Table: KeyedTable>(
            _ name: String, _ path: any WritableKeyPath<Settings, [Table]> & Sendable,
            _ counts: ClosedRange<Int>, schema: @escaping @Sendable () -> ValueSchema = { Table.schema() },
            write: (@Sendable (Table) -> String)? = nil,
            read: @escaping @Sendable (inout SettingsErrors, TOMLNode, _ root: TOMLNode) -> [Table]
        ) {
            let header = "[[\(name)]]"
            self.init(
                name, header, Table.keys, schema: { .list(of: schema(), counts) },
                read: { $3[keyPath: path] = read(&$0, $1, $2) },
                write: { $0[keyPath: path].map { write?($0) ?? Settings.section(header, $0) } })
        }

        private init<Table>(
            _ name: String, _ header: String, _ keys: [Key<Table>], schema: @escaping @Sendable () -> ValueSchema,
            read: @escaping @Sendable (inout SettingsErrors, TOMLNode, TOMLNode, inout Settings) -> Void,
            write: @escaping @Sendable (Settings) -> [String]
        ) {
            (self.name, self.header, self.schema, self.read, self.write) = (name, header, schema, read, write)
            self.keys = keys.map { ($0.name, $0.mayBeSecret) }
        }
    }

    static let rows: [FileTable] = [
        FileTable("server", \.server),
        FileTable(
            "provider", \.providers, SettingsErrors.providerCounts, schema: { Provider.wholeSchema }, write: \.section
        ) { errors, node, _ in errors.providers(node) },
        FileTable("system-resolver", \.systemResolver),
        FileTable("cache", \.cache),
        FileTable("prefetch", \.prefetch),
        FileTable("stale", \.stale),
        FileTable("probe", \.probe),
        FileTable("network", \.network),
        FileTable("fleet", \.fleet, isWritten: { !$0.servers.isEmpty }),
        FileTable("control", \.control),
        FileTable("log", \.log),
        FileTable("notify", \.receivers, SettingsErrors.receiverCounts) { errors, node, _ in errors.receivers(node) },
        FileTable("nameserver", \.nameservers, SettingsErrors.nameserverCounts) {
            $0.nameservers($1, besideProviders: $2.names(of: "provider"))
        },
        FileTable("view", \.views, SettingsErrors.viewCounts) { $0.views($1, beside: $2.names(of: "provider")) },
        FileTable("rule", \.rules, SettingsErrors.ruleCounts) {
            $0.rules($1, providers: $2.names(of: "provider"), nameservers: $2.names(of: "nameserver"))
        },
    ]
}

extension TOMLNode {
    /// Returns the names of providers or nameservers as written, even if other keys are invalid.
    fileprivate func names(of table: String) -> [String] {
        guard case .array(let elements) = member(table)?.value else {
            return table == "provider" ? Settings.Provider.builtIn.map(\.name) : []
        }
        return elements.compactMap { element in
            guard case .string(let name) = element.member("name")?.value else { return nil }
            return name
        }
    }
}
