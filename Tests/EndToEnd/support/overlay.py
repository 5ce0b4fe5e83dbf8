# Proof that a command runs in a test's own overlay: a token file that no other place has. Tests that write below /etc
# or /var/lib run their commands behind `guard`, which refuses everywhere else. Without it, a command that failed to
# enter its namespace would change the machine that runs the tests.

import secrets

# The token file in each directory that the overlay covers.
FILE = ".httpdnsd-test-overlay"

# The exit code of a refusal; no program that the tests run ends with it.
REFUSED = 93

# Enters a mount namespace at the target's root and not at the namespace's: they differ in a chroot (setns(2)).
ENTER = ("nsenter", "--mount", "--root", "--wdns=/")

_GUARD = f"""
for directory in $1; do
    found=
    {{ read -r found <"$directory/{FILE}"; }} 2>/dev/null
    [ "$found" = "$0" ] && continue
    echo "refused: $directory is not the overlay of this test (no {FILE} with its token)" >&2
    exit {REFUSED}
done
shift
exec "$@"
"""


def new_token():
    return secrets.token_hex(16)


def guard(token, *directories):
    """A prefix that runs a command if all directories have this token, and else ends with REFUSED."""
    return ("sh", "-c", _GUARD, token, " ".join(directories))


def check(ended):
    """Fails if `guard` has refused this command."""
    if ended.returncode == REFUSED:
        raise AssertionError(ended.stderr)
    return ended
