"""The endpoint's refusals: status and body, in the words of the real service where they are known.

The table at the end says when each is given; the reference page is made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds.versions import NEWEST_EVENTS_VERSIONS, NEWEST_INSTANCE_VERSIONS


def error(status: int, message: str, headers: tuple[tuple[str, str], ...] = (), **members: object) -> Answer:
    """An error as IMDS writes it: a JSON object with a string `error`."""
    return answer(status, to_json({"error": message, **members}), headers)


ORIGIN = error(403, "Forbidden. A web page may not use this service: the request has an Origin header")
HOST = error(403, "Forbidden. The Host header does not name this machine")
NO_HEADER = error(400, "Bad request. Required metadata header not specified")
FORWARDED = error(400, "Bad request. X-Forwarded-For header is not allowed")
DUPLICATE_PARAMETER = error(400, "Bad request. A query parameter was given more than once")
NO_IDENTITY_HEADER = answer(
    400, to_json({"error": "invalid_request", "error_description": "Required metadata header not specified"})
)
NO_IDENTITY = answer(400, to_json({"error": "invalid_request", "error_description": "Identity not found"}))
NOT_FOUND = error(404, "Not found")
UNKNOWN_CALLER = error(404, "Not found. No virtual machine is known at the address of this request")
TOO_MANY_REQUESTS = error(429, "Too many requests", (("Retry-After", "1"),))
INTERNAL = error(500, "Internal error. Try again")
HEADERS_TOO_LARGE = error(431, "Request header fields too large")
BODY_TOO_LARGE = error(413, "Request body too large")
MALFORMED_REQUEST = error(400, "Bad request. The request could not be read as HTTP")
TOO_MANY_CONNECTIONS = error(503, "Too many connections from this virtual machine", (("Retry-After", "1"),))
LISTENER_FULL = error(503, "Too many connections", (("Retry-After", "1"),))
STOPPING = error(503, "The service is stopping. Try again", (("Retry-After", "1"),))
TOO_SLOW = error(HTTPStatus.REQUEST_TIMEOUT, "Request timeout")


def bad_version(newest: Sequence[str]) -> Answer:
    """The api-version is missing or not one of ours; the newest are named."""
    text = (
        "Bad request. api-version is invalid or was not specified in the request. "
        "For more information refer to aka.ms/azureimds"
    )
    return answer(400, to_json({"error": text, "newest-versions": list(newest)}))


def wrong_method(allowed: str) -> Answer:
    """The verb is not supported here."""
    return error(405, "Method not allowed", (("Allow", allowed),))


def bad_payload(why: str) -> Answer:
    """The body of a POST cannot be used."""
    return error(400, f"Bad request. {why}")


# In the order of judgement, and only the first objection is answered; the last two may come at any moment.
OCCASIONS: tuple[tuple[Answer, str], ...] = (
    (LISTENER_FULL, "there are as many connections as there may be, in all or of strangers; the connection ends"),
    (TOO_MANY_CONNECTIONS, "the guest has as many connections open as it may; the connection ends"),
    (MALFORMED_REQUEST, "what was sent is not HTTP; the connection ends"),
    (HEADERS_TOO_LARGE, "the target and the headers are too long; the connection ends"),
    (BODY_TOO_LARGE, "the body is too long; the connection ends"),
    (TOO_SLOW, "the request was not whole in time; the connection ends"),
    (UNKNOWN_CALLER, "nobody is known at the address, port or interface of the request"),
    (TOO_MANY_REQUESTS, "the guest asks too often, or has too many requests waiting on one connection"),
    (ORIGIN, "`Origin` is there: web pages must not call the endpoint"),
    (HOST, "on a loopback address: `Host` is none that is accepted there, or is missing in HTTP/1.1"),
    (FORWARDED, "`X-Forwarded-For` is there: a proxy must not ask for its clients"),
    (NOT_FOUND, "there is no such path, or no such part of the instance's metadata"),
    (NO_HEADER, "`Metadata: true` is missing where the api-version needs it, or says something else"),
    (NO_IDENTITY_HEADER, "the same, asking for a token"),
    (DUPLICATE_PARAMETER, "a parameter of the query is there twice"),
    (bad_version(NEWEST_EVENTS_VERSIONS), "`api-version` is missing or unknown, asking for the document"),
    (bad_version(NEWEST_INSTANCE_VERSIONS), "`api-version` is missing or no date, asking for the instance"),
    (wrong_method("GET, POST"), "the document does not take the method"),
    (wrong_method("GET"), "the instance, the versions and the token do not take the method"),
    (NO_IDENTITY, "a token is asked for: the VM has no managed identity"),
    (bad_payload("The payload is not valid JSON"), "the body of a POST cannot be used; the sentence says why"),
    (STOPPING, "the service ends before it could answer: nothing was promised"),
    (INTERNAL, "a bug, or a store that does not answer: nothing was promised"),
)
