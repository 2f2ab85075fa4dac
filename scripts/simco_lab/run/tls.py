"""The certificate of both ends, for variants with TLS: made once for a user, with a key of its own, and valid at any time,
because the guest's clock has its own date."""

import os
import subprocess
import tempfile
from pathlib import Path

from ..errors import LabError

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simco" / "lab-tls"
CERTIFICATE, KEY = "certificate.pem", "key.pem"
VALID = ("20200101000000Z", "21200101000000Z")
CONFIGURATION = """\
[ca]
default_ca = box
[box]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = names
x509_extensions = addresses
[names]
commonName = supplied
[addresses]
subjectAltName = {names}
"""


def make(folder, addresses):
    """Makes a certificate for these addresses, signed by its own key, and the key in `folder`. Raises LabError."""
    names = ", ".join(f"IP:{address}" for address in addresses)
    (folder / "configuration").write_text(CONFIGURATION.format(names=names))
    (folder / "index").touch()
    (folder / "serial").write_text("01\n")
    for command in (
            ("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=box",
             "-keyout", KEY, "-out", "request"),
            ("ca", "-batch", "-notext", "-selfsign", "-config", "configuration", "-keyfile", KEY, "-in", "request",
             "-startdate", VALID[0], "-enddate", VALID[1], "-out", CERTIFICATE)):
        try:
            done = subprocess.run(("openssl", *command), cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise LabError("'openssl' is missing: run scripts/setup --lab") from error
        if done.returncode != 0:
            raise LabError(f"openssl {command[0]}: {done.stderr.strip()}")


def files(addresses):
    """Returns {name: text} of certificate and key, the same as long as they are kept. Raises LabError."""
    if not (FOLDER / CERTIFICATE).exists():
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=FOLDER.parent))
        make(fresh, addresses)
        try:
            fresh.rename(FOLDER)
        except OSError as error:  # another run was faster
            if not (FOLDER / CERTIFICATE).exists():
                raise LabError(f"{FOLDER}: {error.strerror}") from error
    return {name: (FOLDER / name).read_text() for name in (CERTIFICATE, KEY)}
