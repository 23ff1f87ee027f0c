"""What an agent is told: where to ask, who it is, what to do, where to keep it. Values; `config.py` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path

from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Policy, Profile, Rule

AZURE = "http://169.254.169.254"
DISCOVER = "discover"  # as an endpoint: SCHEDULEDEVENTSIP, DHCP option 245, and then Azure's address


@dataclass(frozen=True, slots=True)
class Peers:
    """The other agents of events that name several VMs."""

    listen: tuple[str, int]
    secret: str
    members: Mapping[str, str]  # the VM's name, and its agent's HOST:PORT
    expiry_seconds: float = 10  # how long a word of being ready counts


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a file, the environment and the command line say."""

    endpoints: tuple[str, ...] = (AZURE,)  # roots without /metadata, asked in turn; or DISCOVER
    api_version: str = ""  # empty: the newest that the endpoint knows
    poll_seconds: float = 1
    wait_seconds: float = 30  # how long the endpoint may hold a request, where it can; 0: never ask for it
    first_timeout_seconds: float = 130
    timeout_seconds: float = 10
    blind_after_seconds: float = 30
    doubt_seconds: float = 1  # at least, and at least a poll, between two answers that count against an event
    names: tuple[str, ...] = ()  # aliases, besides what the endpoint and the machine say
    uses_hostname: bool = True
    state_dir: Path = Path("/var/lib/forewarn-agent")
    listen: tuple[str, int] | None = ("127.0.0.1", 8256)
    log_format: str = "auto"  # auto: plain on a terminal, else json
    audit_file: Path | None = None  # a line of JSON per event that is over
    is_dry_run: bool = False  # nothing is run, nothing is approved, everything is said
    approves: bool = True  # False: whatever profiles say
    rules: tuple[Rule, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    peers: Peers | None = None
    literals: Mapping[str, str] = field(default_factory=dict)  # secrets that stand in the file, by their checksums
    source: str = ""  # the file; empty: none
    warnings: tuple[str, ...] = ()  # what in all this is probably not meant

    @property
    def policy(self) -> Policy:
        """What the file says of events."""
        return Policy(self.rules, self.profiles)

    @property
    def apart_seconds(self) -> float:
        """How far apart answers have to be that count against an event."""
        return max(self.doubt_seconds, self.poll_seconds)

    @property
    def fresh_within(self) -> timedelta:
        """How old the answer may be by which something is approved: a few polls."""
        return timedelta(seconds=max(5, 3 * self.poll_seconds))

    @property
    def seen_within(self) -> timedelta:
        """How long it may be without an answer before the agent counts as blind."""
        return timedelta(seconds=max(self.blind_after_seconds, 3 * self.poll_seconds))

    @property
    def longest_look(self) -> timedelta:
        """How long it may be between two answers without a gap in the watching."""
        return timedelta(seconds=self.wait_seconds + self.timeout_seconds + 5)
