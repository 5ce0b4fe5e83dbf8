# A slice of the fault matrix: every fault in two dialects, and three faults in every dialect. `scripts/matrix` runs all
# of it.

import matrix
from cases import Case
from dig import dig
from lab import KINDS


class Slice(Case):
    expected_seconds = 40

    def assertRow(self, kind, faults):
        cells, (left, _) = matrix.run(kind, faults)
        problems = {cell.fault: cell.problems for cell in cells if cell.problems}
        self.assertEqual(({}, []), (problems, left), kind)


class EveryFault(Slice):
    def test_in_a_dialect_over_https(self):
        self.assertRow("doh", list(matrix.FAULTS))

    def test_in_a_dialect_that_is_signed(self):
        self.assertRow("volcengine", list(matrix.FAULTS))


class EveryDialect(Slice):
    def test_whatever_the_dialect(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.assertRow(kind, ["refused", "truncated-gzip", "500"])


class LongConnections(Case):
    def test_a_connection_is_left_before_it_hangs(self):
        provider = self.lab()
        provider.fault("hang-long-connection", provider="json", value=6)
        server = self.daemon([provider.provider("json", **{"connection-requests": 5})])
        for number in range(20):
            reply = dig(server, f"n{number}.any.lab.example", "A")
            self.assertEqual({matrix.TRUTH}, reply.data)
            self.assertLess(reply.seconds, 0.5)
        self.assertEqual({}, server.failures("json"))
        self.assertEqual(20, provider.requests()["total"])
