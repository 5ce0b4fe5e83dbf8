// The executable of the helper: passes the arguments to `HelperProgram.run`.

import LinuxIO

Process.exit(HelperProgram.run(Array(CommandLine.arguments.dropFirst())))
