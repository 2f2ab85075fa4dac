"""SIP proxies before the server: the files of a job, what the guest needs, and who may not have one."""

import unittest
from unittest import mock

import trial
from simco_lab import errors
from simco_lab.run import job
from simco_lab.scenario import proxies

TRIAL = dict(workload="sip", quick=dict(count=100), full=dict(count=100),
             matrix=dict(variant=["udp", "sctp-1"], delay_ms=[20], proxy=["none", "kamailio", "kamailio-tm"]))


def points(**changes):
    """Returns {(variant, proxy): point}."""
    return {(str(point.variant), point.proxy): point for point in trial.points(TRIAL, **changes)}


class Files(unittest.TestCase):
    def test_a_proxy_starts_before_the_server_that_it_leads_to(self):
        files = job.Job(points()["sctp-1", "kamailio"]).files
        self.assertIn("server_command='sh $job/serve $job $out'\n", files["settings"])
        self.assertIn("--connect 10.72.2.1 ", files["settings"])
        start, server = files["serve"].split("until grep")
        self.assertIn("kamailio -DD", start)
        self.assertTrue(server.splitlines()[-1].startswith("exec simco-sip --transport sctp "))
        self.assertTrue(server.endswith(" --port 5061\n"))
        self.assertIn('forward_sctp("10.72.2.1", 5061);', files["proxy.cfg"])
        self.assertIn("listen=udp:10.72.2.1:5060", files["proxy.cfg"])
        self.assertNotIn("tm.so", files["proxy.cfg"])

    def test_one_with_transactions(self):
        config = job.Job(points()["udp", "kamailio-tm"]).files["proxy.cfg"]
        self.assertIn('loadmodule "tm.so"', config)
        self.assertIn('t_relay_to_udp("10.72.2.1", "5061");', config)

    def test_without_one_a_job_is_as_before(self):
        files = job.Job(points()["udp", "none"]).files
        self.assertNotIn("serve", files)
        self.assertNotIn("--port", files["settings"])

    def test_all_meet_the_same_arrivals_and_losses(self):
        found = points()
        self.assertEqual(found["udp", "none"].seed("request"), found["udp", "kamailio"].seed("request"))
        own = points(seeds="own")
        self.assertNotEqual(own["udp", "none"].seed("request"), own["udp", "kamailio"].seed("request"))
        # As before there was this dimension: results of long ago go on.
        self.assertEqual(own["udp", "none"].seed("request"), 34538492142783)


class Needs(unittest.TestCase):
    def test_a_guest_without_proxies_has_nothing_more(self):
        self.assertEqual(proxies.programs([points()["udp", "none"]]), [])

    def test_what_is_not_here_is_named(self):
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(errors.LabError, "a proxy needs kamailio .*: run scripts/setup --lab"):
                proxies.programs(points().values())

    def test_tls_and_other_workloads_have_none(self):
        for words, changes in (("'tls': proxies have TCP, SCTP or UDP only", dict(matrix=dict(variant=["tls"]))),
                               ("the echo workload needs a reliable transport", dict(workload="echo"))):
            with self.assertRaisesRegex(ValueError, words):
                points(**changes)
