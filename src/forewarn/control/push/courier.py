"""The courier: a worker for each webhook, on a thread of its own, so that a slow or dead one costs nobody else.

Nothing here touches the store: what has become of deliveries is collected, and taken by who keeps the books. It
runs on real time, as sockets do, whatever clock the service has.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from forewarn import __version__
from forewarn.clock import SystemClock
from forewarn.control.push.delivery_queue import DeliveryQueue, RetryPolicy
from forewarn.control.push.sending import HttpSender, Sender, WebhookReply
from forewarn.logs import get_logger
from forewarn.store.webhooks import Delivery, Format, Webhook
from forewarn.wire.push import cloudevents, eventgrid
from forewarn.wire.push.signature import HEADER, ID_HEADER, sign

log = get_logger()

MOST_WAITING = 10_000  # of one webhook; what is too much for it becomes a dead letter at once
_LAST_SECONDS = 2.0  # for the workers to end
_MEDIA_TYPES = {Format.CLOUDEVENTS: cloudevents.MEDIA_TYPE, Format.EVENTGRID: eventgrid.MEDIA_TYPE}


@dataclass(frozen=True, slots=True)
class Means:
    """What workers work with; a test hands in its own."""

    patience: RetryPolicy = field(default_factory=RetryPolicy)
    make_sender: Callable[[], Sender] = field(default=lambda: HttpSender(10.0))
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = field(default=SystemClock().now)
    chance: Callable[[], float] = random.random


@dataclass(slots=True)
class Standing:
    """How things stand with a webhook, since the service was started."""

    delivered: int = 0
    failed: int = 0  # tries
    problem: str = ""  # why the last try failed, unless it did not


class Note(Protocol):
    """Takes down what has become of a delivery."""

    def __call__(self, delivery: Delivery, *, has_arrived: bool) -> None:
        """One try: the delivery as it is now, and whether it has arrived."""


class Worker:
    """Tells one webhook what it has to be told."""

    def __init__(self, webhook: Webhook, means: Means, settled: Note) -> None:
        self.webhook = webhook
        self.standing = Standing()
        self._means = means
        self._settled = settled
        self._sender = means.make_sender()
        self._line = DeliveryQueue()
        self._turn = threading.Condition()
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name=f"webhook {webhook.id}", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def end(self) -> None:
        """Try nothing more; what is under way is cut off."""
        with self._turn:
            self._is_ending = True
            self._turn.notify()
        self._sender.cut()

    def join(self, seconds: float) -> None:
        """Wait for the thread, but not for ever."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, seconds))

    @property
    def waiting(self) -> int:
        """How many deliveries have not arrived and are not given up."""
        with self._turn:
            return len(self._line)

    def take(self, delivery: Delivery) -> None:
        """One more to deliver."""
        with self._turn:
            if len(self._line) < MOST_WAITING:
                self._line.join(delivery, self._means.monotonic())
                self._turn.notify()
                return
        problem = f"{MOST_WAITING} deliveries were waiting before it"
        self._settled(replace(delivery, problem=problem, dead_at=self._means.now()), has_arrived=False)

    def _run(self) -> None:
        while (delivery := self._next()) is not None:
            try:
                self._settle(delivery, self._send(delivery))
            except Exception as problem:  # a bug must not end the worker; it counts as a try
                log.exception("delivery failed", webhook=self.webhook.id, delivery=delivery.number)
                self._settle(delivery, WebhookReply(f"failed through a bug: {type(problem).__name__}"))

    def _next(self) -> Delivery | None:
        """What is due next, as soon as it is; None at the end."""
        with self._turn:
            while not self._is_ending:
                now = self._means.monotonic()
                if (delivery := self._line.take(now)) is not None:
                    return delivery
                due = self._line.next_due()
                self._turn.wait(None if due is None else due - now)
        return None

    def _send(self, delivery: Delivery) -> WebhookReply:
        return _post(self._sender, self.webhook, delivery.message, delivery.body.encode(), self._means.now())

    def _settle(self, delivery: Delivery, reply: WebhookReply) -> None:
        if not reply.problem:
            self._arrived(delivery)
        elif not self._is_ending:  # what was cut off was no try
            self._failed(delivery, reply)

    def _arrived(self, delivery: Delivery) -> None:
        self.standing.delivered += 1
        if self.standing.problem:
            log.info("webhook is told again", webhook=self.webhook.id)
        self.standing.problem = ""
        self._settled(delivery, has_arrived=True)
        with self._turn:
            self._line.leave(delivery, self._means.monotonic())

    def _failed(self, delivery: Delivery, reply: WebhookReply) -> None:
        means, patience = self._means, self._means.patience
        self.standing.failed += 1
        if not self.standing.problem:
            log.warning("webhook not told", webhook=self.webhook.id, problem=reply.problem, hint="tried again")
        self.standing.problem = reply.problem
        tried = replace(delivery, tries=delivery.tries + 1, problem=reply.problem)
        if patience.is_over(tried.tries):
            tried = replace(tried, dead_at=means.now())
            log.error("delivery given up", webhook=self.webhook.id, delivery=tried.number, message=tried.message)
        self._settled(tried, has_arrived=False)
        with self._turn:
            now = means.monotonic()
            if tried.dead_at is not None:
                self._line.leave(tried, now)
                return
            wanted = min(reply.retry_seconds, patience.most_seconds)
            self._line.put_back(tried, now + max(patience.pause(tried.tries, means.chance()), wanted))


def _post(sender: Sender, webhook: Webhook, message: str, body: bytes, now: datetime) -> WebhookReply:
    """Send one signed message."""
    headers = {
        "Content-Type": _MEDIA_TYPES[webhook.format],
        "User-Agent": f"forewarn/{__version__}",
        ID_HEADER: message,
        HEADER: sign(webhook.secret, int(now.timestamp()), body),
    }
    if webhook.format is Format.EVENTGRID:
        headers["aeg-event-type"] = "Notification"
    return sender.send(webhook.url, body, headers)


@dataclass(frozen=True, slots=True)
class WebhookTestReply:
    """How the test of a webhook went."""

    reply: WebhookReply
    seconds: float


@dataclass(slots=True)
class Settled:
    """What has become of deliveries since it was last written down."""

    arrived: dict[int, None] = field(default_factory=dict)
    tried: dict[int, Delivery] = field(default_factory=dict)

    def note(self, delivery: Delivery, *, has_arrived: bool) -> None:
        """One more try; the last one counts."""
        self.tried.pop(delivery.number, None)
        if has_arrived:
            self.arrived[delivery.number] = None
        else:
            self.tried[delivery.number] = delivery

    def __bool__(self) -> bool:
        return bool(self.arrived or self.tried)


class Courier:
    """Workers for all webhooks; any thread may call."""

    def __init__(self, means: Means | None = None) -> None:
        self._means = means or Means()
        self._lock = threading.Lock()
        self._workers: dict[str, Worker] = {}
        self._settled = Settled()
        self._tests: dict[str, Sender] = {}  # those under way
        self.wants_books = threading.Event()  # set when there is something to write down

    def serve(self, webhook: Webhook) -> None:
        """Begin to deliver to a webhook."""
        worker = Worker(webhook, self._means, self._note)
        with self._lock:
            self._workers[webhook.id] = worker
        worker.start()

    def dismiss(self, webhook: str) -> None:
        """Tell a webhook nothing more."""
        with self._lock:
            worker = self._workers.pop(webhook, None)
        if worker is not None:
            worker.end()

    def take(self, deliveries: Iterable[Delivery]) -> None:
        """More to deliver; what is for nobody any more is let go."""
        for delivery in deliveries:
            if worker := self._workers.get(delivery.webhook):
                worker.take(delivery)

    def test(self, webhook: Webhook, message: str, body: bytes) -> Future[WebhookTestReply] | None:
        """Send a test message now, whatever else waits; it counts as no delivery. None: a test is under way.

        Each test has a thread of its own: a receiver that does not answer keeps nobody else waiting.
        """
        sender = self._means.make_sender()
        with self._lock:
            if webhook.id in self._tests:
                return None
            self._tests[webhook.id] = sender
        future: Future[WebhookTestReply] = Future()
        future.set_running_or_notify_cancel()  # a caller that hangs up cannot cancel it

        def run() -> None:
            began = self._means.monotonic()
            try:
                reply = _post(sender, webhook, message, body, self._means.now())
            except Exception as problem:  # a bug must not leave the caller waiting
                log.exception("webhook test failed", webhook=webhook.id)
                reply = WebhookReply(f"failed through a bug: {type(problem).__name__}")
            with self._lock:
                del self._tests[webhook.id]
            future.set_result(WebhookTestReply(reply, self._means.monotonic() - began))

        threading.Thread(target=run, name=f"webhook test {webhook.id}", daemon=True).start()
        return future

    def standing(self, webhook: str) -> tuple[Standing, int]:
        """How things stand with a webhook, and how much waits for it."""
        worker = self._workers.get(webhook)
        return (worker.standing, worker.waiting) if worker else (Standing(), 0)

    def _note(self, delivery: Delivery, *, has_arrived: bool) -> None:
        with self._lock:
            self._settled.note(delivery, has_arrived=has_arrived)
        self.wants_books.set()

    def take_settled(self) -> Settled:
        """What has to be written down."""
        with self._lock:
            settled, self._settled = self._settled, Settled()
        return settled

    def put_back(self, settled: Settled) -> None:
        """Writing failed: it has to be written the next time, unless there is newer word of it."""
        with self._lock:
            newer, self._settled = self._settled, settled
            for number in newer.arrived:
                self._settled.tried.pop(number, None)
            self._settled.arrived |= newer.arrived
            self._settled.tried |= newer.tried
        self.wants_books.set()

    def stop(self) -> None:
        """Cut off what is under way, and end."""
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
            tests = list(self._tests.values())
        for sender in tests:
            sender.cut()
        for worker in workers:
            worker.end()
        until = self._means.monotonic() + _LAST_SECONDS
        for worker in workers:
            worker.join(until - self._means.monotonic())
