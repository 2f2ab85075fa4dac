"""Mistakes in scenario files: values of every kind for every key, and what does not go together. Each is one line with the
file's name and the number of the line."""

import re
import tempfile
import unittest
from pathlib import Path

from simco_lab import scenario, sizes
from simco_lab.catalogue import TRANSPORTS
from simco_lab.errors import ScenarioError
from simco_lab.keys import KEYS

# A table is its header and lines of one key each.
TABLES = {
    "": ['title = "Trial"', 'workload = "sip"', "lose_at = 10"],
    "matrix": ["[[matrix]]", 'variant = ["tcp", "udp"]', "delay_ms = [20]", "lose_run = [0, 2]", "rate = [10, 40]"],
    "quick": ["[quick]", "count = 100", "replications = 4"],
    "full": ["[full]", "count = 1000", "replications = 4"],
    "plot": ["[[plot]]", 'name = "p"', 'title = "P"', 'kind = "over"', "where = { rate = 40 }"],
    "expect": ["[[expect]]", 'id = "X"', 'claim = "x"', 'kind = "less"', 'less = { variant = "udp" }',
               'than = { variant = "tcp" }'],
    "paper": ["[[paper]]", 'what = "w"', "value = 3"],
}
# Of every type that TOML has.
VALUES = ('"x"', '""', '"about 3"', "1", "-1", "0", "1.5", "4.5", "1e300", "nan", "inf", "-inf", "true", "1979-05-27",
          "12:00:00", "[]", "{}", "[5]", "[nan]", "[inf]", "[true]", '["x"]', '[""]', "[[1]]", "[{}]", "[[]]", "{ a = 3 }",
          "{ rate = 3 }", "{ rate = [] }", '{ variant = {} }', "{ 1 = true }", "{ 1 = 0.5 }", "{ nan = 3 }",
          "[{ rate = 40 }, { rate = nan }]", "99999999999999999999999", '[["x"], { y = 1 }]')


def text_of(tables):
    return "\n".join(line for lines in tables.values() for line in lines) + "\n"


def with_key(table, key, value):
    """Returns the text in which `key` of `table` has another value, and the number of that line."""
    changed = {name: [line for line in lines if name != table or not line.startswith(f"{key} =")]
               for name, lines in TABLES.items()}
    line = f"{key} = {value}"
    changed[table].append(line)
    if table == "" and key in TABLES:
        changed[key] = []
    text = text_of(changed)
    return text, text.splitlines().index(line) + 1


def complaint(text):
    """Returns the complaint about a scenario, without its folder; empty if there is none. Any other exception is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            scenario.read(path)
        except ScenarioError as error:
            return str(error).removeprefix(f"{folder}/")
    return ""


class EveryKey(unittest.TestCase):
    def test_it_is_right_as_it_is(self):
        self.assertEqual(complaint(text_of(TABLES)), "")

    def test_a_value_of_each_kind_is_taken_or_named_with_its_line(self):
        for table, keys in KEYS.items():
            for key in keys:
                refused = 0
                for value in VALUES:
                    text, line = with_key(table, key, value)
                    with self.subTest(f"[{table}] {key} = {value}"):
                        found = complaint(text)
                        if not found:
                            continue
                        refused += 1
                        self.assertRegex(found, r"\Atrial.toml:\d+: \S[^\n]*\Z")
                        self.assertNotIn("cannot be read", found, "its check lets it pass")
                        if "must be" in found:
                            self.assertIn(f"trial.toml:{line}: ", found)
                self.assertGreater(refused, len(VALUES) / 3, (table, key))

    def test_a_table_instead_of_several(self):
        self.assertIn("trial.toml:15: 'plot' must be tables", complaint(text_of(TABLES).replace("[[plot]]", "[plot]")))

    def test_what_no_check_expects(self):
        reader = scenario._Reader(Path("trial.toml"), text_of(TABLES))
        reader.place = "full", 0
        with self.assertRaisesRegex(ScenarioError, "trial.toml:12: cannot be read: "):
            with reader.mistakes():
                int("x")

    def test_other_files(self):
        self.assertEqual(complaint(b'title = "x"\nsource = "\xe9"\n'), "trial.toml:2: not in UTF-8: octet 0xe9")
        self.assertRegex(complaint(b"\x00"), r"\Atrial.toml:1: ")
        self.assertRegex(complaint(b"\xef\xbb\xbf" + text_of(TABLES).encode()), r"\Atrial.toml:1: ")
        self.assertRegex(complaint("title = " + "[" * 5000), r"\Atrial.toml:\d+: ")


class Together(unittest.TestCase):
    def wrong(self, words, *changes, more=""):
        """The text, with these changes and these lines at its end, is wrong at the line that has `words` in the first of them."""
        text = text_of(TABLES)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        text += more
        found = complaint(text)
        line, said = re.fullmatch(r"trial.toml:(\d+): (.*)", found).groups() if found else (0, "")
        self.assertIn(words, said)
        return text.splitlines()[int(line) - 1]

    def top(self, key, value, words, *changes):
        line = f"{key} = {value}"
        self.assertEqual(self.wrong(words, ("lose_at = 10", f"lose_at = 10\n{line}"), *changes), line)

    def dimension(self, key, value, words, *changes):
        line = f"{key} = {value}"
        self.assertEqual(self.wrong(words, ("delay_ms = [20]", f"delay_ms = [20]\n{line}"), *changes), line)

    def test_sizes(self):
        self.top("invite_size", 0, "must be a whole number from 1 to 65,536")
        self.top("invite_size", 100, "an INVITE over TCP has at least 395 octets")
        self.top("invite_size", 395, "an INVITE over SCTP has at least 396 octets", ('"tcp", "udp"', '"sctp-1", "udp"'),
                 ('{ variant = "tcp" }', '{ variant = "sctp-1" }'))
        self.top("invite_size", 70000, "must be a whole number from 1 to 65,536")
        self.top("invite_size", 2000, "INVITEs of more than 1300 octets over UDP need 'large_over_udp'")
        self.top("invite_size", 65508, "a datagram carries at most 65507", ("lose_at = 10", "large_over_udp = true\nlose_at = 10"))
        self.top("response_size", 10, "a 180 response has at least 298 octets")
        self.top("response_size", 270, "a 180 response has at least 298 octets")
        self.top("response_size", 8193, "must be a whole number from 1 to 8,192")
        # Over UDP each needs one.
        self.top("response_size", 10, "'response_size' 10, variant 'udp': a 100 response has at least 263 octets",
                 ("lose_at = 10", 'response = "none"\nlose_at = 10'))
        self.dimension("large_size", "[100]", "an INVITE over TCP has at least 395 octets")
        self.dimension("large_size", "[0, 16000]", "INVITEs of more than 1300 octets over UDP need 'large_over_udp'")
        self.dimension("large_size", "[0, 1200]", "'ns2' needs messages of one size", ("rate = [", 'profile = ["ns2"]\nrate = ['))

    def test_the_least_invite_has_a_place_for_every_transport(self):
        for transport in TRANSPORTS.values():
            least = sizes.INVITE_LEAST + len(transport.label)
            self.assertEqual(sizes.invite_fault(transport, least, False), "")
            self.assertNotEqual(sizes.invite_fault(transport, least - 1, False), "")

    def test_values(self):
        for key, value, words in (("t1_ms", "[0]", "a whole number from 1 to 60,000"), ("t1_ms", "[0.5]", "a whole number"),
                                  ("mtu_to", "[10]", "0 or a whole number from 68 to 1,500"), ("jitter_ms", "[nan]", "a number"),
                                  ("loss_percent", "[nan]", "a number"), ("loss_percent", "[100]", "a number from 0 to below 100")):
            self.dimension(key, value, f"'{key}' must be {words}")
        self.assertEqual(self.wrong("'delay_ms' must be a number", ("[20]", "[nan]")), "delay_ms = [nan]")
        self.assertEqual(self.wrong("'rate' must be a number from 0.000001 to 10,000,000", ("40]", "1e300]")), "rate = [10, 1e300]")
        self.assertEqual(self.wrong("'count' must be", ("count = 100", "count = true")), "count = true")
        self.top("warmup", -5, "'warmup' must be a whole number from 0")

    def test_losses(self):
        self.assertEqual(self.wrong("'lose_at' must be below the count, 100", ("lose_at = 10", "lose_at = 100"),
                                    ("[0, 2]", "[0]")), "lose_at = 100")
        self.assertEqual(self.wrong("'lose_run' goes beyond the count", ("lose_at = 10", "lose_at = 99")), "lose_run = [0, 2]")
        for runs in ("[0]", "[2]"):
            self.assertEqual(self.wrong("'affected' compares with the run without losses", ("[0, 2]", runs),
                                        ('kind = "over"', 'kind = "over"\nquantity = "affected"')), 'quantity = "affected"')

    def test_competing_traffic_in_a_part_of_the_run(self):
        self.top("cross_from_s", 20, "'cross_from_s' needs 'cross_for_s'")
        self.dimension("cross", '["none", "tcp-1", "web-3"]', "'cross_for_s' is of tcp-N: web-3 runs all the time",
                       ("lose_at = 10", "cross_for_s = 5\nlose_at = 10"))

    def test_places_that_no_point_has(self):
        self.assertEqual(self.wrong("'where': no point has rate 41; they have 10, 40", ("rate = 40", "rate = 41")),
                         "where = { rate = 41 }")
        self.assertEqual(self.wrong("'less': no point has variant sctp-1", ('less = { variant = "udp"', 'less = { variant = "sctp-1"')),
                         'less = { variant = "sctp-1" }')
        self.assertEqual(self.wrong("no point has queue red", ("value = 3", 'value = 3\nwhere = { queue = "red" }')),
                         'where = { queue = "red" }')
        order = 'order = [{ rate = 10 }, { rate = 30 }]'
        sides = 'less = { variant = "udp" }\nthan = { variant = "tcp" }'
        self.assertEqual(self.wrong("'order': no point has rate 30", ('kind = "less"', 'kind = "order"'), (sides, order)), order)

    def test_names(self):
        self.assertEqual(self.wrong("two [[plot]] have the name 'p'", more='[[plot]]\ntitle = "Q"\nkind = "mean"\nname = "p"\n'), 'name = "p"')
        self.assertEqual(self.wrong("two [[expect]] have the id 'X'", more='[[expect]]\nclaim = "y"\nkind = "monotone"\nid = "X"\n'), 'id = "X"')
        for name in ("../../x", "/x", ".", ".x", "", "a b"):
            self.assertEqual(self.wrong("'name' must be letters", ('"p"', f'"{name}"')), f'name = "{name}"')

    def test_numbers_as_texts(self):
        for kind, key in (("less", "factor"), ("equal", "tolerance_ms"), ("model", "percent"), ("bound", "below")):
            line = f'{key} = "2"'
            self.assertEqual(self.wrong(f"'{key}' must be a number", ('kind = "less"', f'kind = "{kind}"\n{line}')), line)
        for text in ('"3"', '"fast"'):
            self.assertEqual(self.wrong("'value' must be a number without quotes", ("value = 3", f"value = {text}")), f"value = {text}")
        self.assertEqual(self.wrong("'values' must be a table", ("value = 3", 'values = { tcp = "3" }')), 'values = { tcp = "3" }')
        self.assertEqual(self.wrong("'values': no point has variant sctp-1", ("value = 3", "values = { sctp-1 = 3 }")), "values = { sctp-1 = 3 }")


if __name__ == "__main__":
    unittest.main()
