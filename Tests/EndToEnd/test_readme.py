# README: its sample settings are valid, and do what the text says of them.

import subprocess
import tempfile
import unittest
from pathlib import Path

import places
from cases import Case


def blocks(text):
    """The indented blocks of a Markdown document, without their indentation."""
    found = [[]]
    for line in text.splitlines():
        if line.startswith("    "):
            found[-1].append(line[4:])
        elif found[-1]:
            found.append([])
    return ["\n".join(block) for block in found if block]


class Samples(Case):
    def test_the_settings_with_one_provider_are_valid_and_leave_one(self):
        samples = [block for block in blocks((places.ROOT / "README.md").read_text()) if block.startswith("[[provider]]")]
        self.assertEqual(1, len(samples))
        with tempfile.TemporaryDirectory(prefix="e2e-readme-") as folder:
            file = Path(folder) / "httpdnsd.toml"
            file.write_text(samples[0])
            shown = subprocess.run(
                [places.binaries / "httpdnsd", "--config", file, "--print-effective"], text=True, capture_output=True,
                timeout=places.PATIENCE)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertEqual(1, shown.stdout.count("[[provider]]"))


if __name__ == "__main__":
    unittest.main()
