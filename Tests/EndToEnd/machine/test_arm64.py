# The C parts of the programs on arm64: compiled with the compiler for it, run by qemu-user, and compared with this
# machine's. Structs that the kernel reads have other layouts there. The Swift parts are not built: that takes Swift's
# libraries for arm64; see scripts/package.

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import paths
from cases import Case

SOURCES = paths.ROOT / "Sources"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-enum-compare")
# Words of Clang for pointers, which GCC does not know.
CLANG = ("-D_Nonnull=", "-D_Nullable=")


class Parts(Case):
    expected_seconds = 12

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="e2e-arm64-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        # Only this folder of the system's headers: the others are of this machine's processor.
        headers = cls.directory / "headers"
        headers.mkdir()
        (headers / "toml++").symlink_to("/usr/include/toml++")
        cls.includes = [f"-I{path}" for path in
                        (SOURCES / "CLinux/include", SOURCES / "CTOML/include", headers)]

    def built(self, prefix):
        """The program, built by the compiler of this prefix."""
        objects = []
        for source in (*(SOURCES / "CLinux").glob("*.c"), SOURCES / "CTOML/CTOML.cpp", paths.SUPPORT / "c-parts.c"):
            compiler = ("g++", "-std=c++17") if source.suffix == ".cpp" else ("gcc", *CLANG)
            made = self.directory / f"{prefix}{source.stem}.o"
            self.call(f"{prefix}{compiler[0]}", *compiler[1:], *WARNINGS, *self.includes, "-c", "-o", made, source)
            objects.append(made)
        program = self.directory / f"{prefix}c-parts"
        self.call(f"{prefix}g++", "-o", program, *objects)
        return program

    def call(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_they_do_the_same_as_here(self):
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            expected = self.call(self.built(""), here)
            program = self.built("aarch64-linux-gnu-")
            self.assertIn("AArch64", self.call("readelf", "--file-header", program))
            printed = self.call("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", program, there)
        self.assertEqual(expected, printed)
        for line in ("epoll: 2 events, tags 3000000000000003, 1 1", "datagrams: 2 sent, 2 received", "trial: 7",
                     "thread: ETIMEDOUT", "EADDRINUSE: Address already in use"):
            self.assertIn(f"{line}\n", printed)
        self.assertRegex(printed, r"records: 0, 0, 1, header: first second, signal 11, mode 600, 44 bytes\n")
        self.assertEqual(3, len(re.findall("refused: 1, ", printed)))

    def test_a_package_takes_programs_of_its_architecture_only(self):
        done = subprocess.run([paths.ROOT / "scripts/package", "--arch", "arm64", "--binaries", paths.binaries],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"scripts/package: .*/httpdnsd is no program for arm64\n")


if __name__ == "__main__":
    unittest.main()
