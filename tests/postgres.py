"""A PostgreSQL of the tests: a cluster of its own in a temporary folder, reached by its socket."""

from __future__ import annotations

import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

MISSING = "THERE IS NO POSTGRESQL: no statement for it is run in any test"


def find_programs():
    """The folder of its programs, ``None`` where there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).parent for found in [shutil.which("initdb")] if found]
    names = ("initdb", "pg_ctl", "psql")
    return next((f for f in folders if all((f / name).exists() for name in names)), None)


def owner():
    """Who may run it: not root, which it refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


class Cluster:
    """A running PostgreSQL without a network."""

    def __init__(self, programs, folder):
        self.psql, self.folder = programs / "psql", folder

    def run(self, text, database="postgres"):
        """What ``psql`` does with a file: its exit code, and what it said of errors."""
        words = [self.psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder]
        words += ["-U", "test", "-d", database, "-f", "-"]
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=300)
        return done.returncode, done.stderr.decode()

    def do(self, text):
        """The same for statements that must succeed."""
        code, said = self.run(text)
        assert code == 0, said

    def rows(self, query):
        """The rows of a query, each cell as text and nulls as ``None``."""
        words = [self.psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder]
        words += ["-U", "test", "-d", "postgres", "-c"]
        copy = f"COPY ({query}) TO STDOUT (FORMAT csv, FORCE_QUOTE *, NULL '\\N')"
        done = subprocess.run([*words, copy], capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()
        found = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
        return [[None if cell == "\\N" else cell for cell in row] for row in found]


@contextmanager
def running_cluster():
    """A cluster that is gone when the block is left."""
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="md-pg-"))
    user = owner()
    as_owner = {"user": user, "cwd": "/", "timeout": 300, "check": True}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    data = folder / "data"
    try:
        first = ["-A", "trust", "-U", "test", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([programs / "initdb", "-D", data, *first], **as_owner, **quiet)
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        control = [programs / "pg_ctl", "-D", data, "-w"]
        log = ["-l", folder / "log", "-o", options]
        subprocess.run([*control, *log, "start"], **as_owner, **quiet)
        try:
            yield Cluster(programs, folder)
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **as_owner, **quiet)
    finally:
        shutil.rmtree(folder)
