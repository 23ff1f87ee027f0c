"""Services that are stopped one after the other before the event, and started the other way round after it."""

from __future__ import annotations

import shlex
import shutil
import threading
from pathlib import Path

import pytest

from tests.running import ROOT, call, free_port, wait_until
from tests.uses.machine import a_machine, end_of, is_running, program
from tests.uses.page import block, filled, put

pytestmark = pytest.mark.system

NGINX = """
pid {place}/nginx.pid;
error_log {place}/nginx-error.log;
worker_processes 1;
events {{ worker_connections 128; }}
http {{
    access_log off;
    server {{
        listen 127.0.0.1:{front};
        location / {{ proxy_pass http://127.0.0.1:{app}; }}
    }}
}}
"""


class Services:
    """nginx, and an application behind it."""

    def __init__(self, place: Path) -> None:
        self.front, app = free_port(), free_port()
        self.nginx_pid, self.app_pid, self.order = (place / name for name in ("nginx.pid", "app.pid", "order"))
        config = place / "nginx.conf"
        config.write_text(NGINX.format(place=place, front=self.front, app=app), encoding="utf-8")
        nginx = [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(config), "-p", str(place)]
        self.start_nginx = put(
            place / "nginx", f"#!/bin/sh\necho nginx >> {self.order}\nexec {shlex.join(nginx)}\n"
        )
        server = shlex.join(program("web_server", app, "app", self.app_pid))
        script = f"#!/bin/sh\necho app >> {self.order}\ncd {ROOT}\n{server} < /dev/null > /dev/null 2>&1 &\n"
        self.start_app = put(place / "start-app", script)

    @property
    def config(self) -> str:
        places = {
            "/run/nginx.pid": self.nginx_pid,
            "/run/app.pid": self.app_pid,
            "/usr/sbin/nginx": self.start_nginx,
            "/usr/local/bin/start-app": self.start_app,
        }
        return filled(block("Graceful shutdown", "toml"), places)

    @property
    def pids(self) -> tuple[int, int]:
        wait_until(lambda: self.nginx_pid.exists() and self.app_pid.exists(), "nginx and the application")
        return int(self.nginx_pid.read_text()), int(self.app_pid.read_text())

    def get(self, path: str = "/") -> tuple[int, bytes]:
        reply = call("127.0.0.1", self.front, "GET", path)
        return reply.status, reply.body


def test_services_are_stopped_in_order_before_the_approval_and_started_again_after_the_event(tmp_path: Path):
    services = Services(tmp_path)
    with a_machine(tmp_path, services.config) as machine:
        try:
            machine.start(services.start_app).wait(60)
            machine.start(services.start_nginx).wait(60)
            first = services.pids
            wait_until(lambda: services.get() == (200, b"app"), "nginx and the application to answer")
            answers: list[tuple[int, bytes]] = []
            slow = threading.Thread(target=lambda: answers.append(services.get("/slow")))
            slow.start()
            event = machine.announce()
            machine.wait_for_approval(event)
            are_running, is_answered = [is_running(pid) for pid in first], bool(answers)
            steps = [machine.step(event, name) for name in ("nginx", "app")]
            slow.join(60)
            machine.crash()
            machine.boot()
            services.order.unlink()
            machine.finish(event)
            second = services.pids
            wait_until(lambda: services.get() == (200, b"app"), "nginx and the application to answer again")
        finally:
            end_of(services.nginx_pid)
            end_of(services.app_pid)

    assert are_running == [False, False]
    assert steps[0]["ended_at"] <= steps[1]["begun_at"], "first the one in front"
    assert services.order.read_text().split() == ["app", "nginx"], "and the other way round"
    assert set(first).isdisjoint(second)
    assert is_answered, "the approval waits for requests that are under way"
    assert answers == [(200, b"app")]
