"""What is kept of a body, and what a PUT and a PATCH make of what is there."""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]

_SECRETS = frozenset({"adminpassword", "customdata", "userdata", "protectedsettings", "additionalunattendcontent"})
# What means something is told as it is now, and never as a client once wrote it.
_OURS = frozenset({"priority", "evictionpolicy"})
_OURS_OF_A_RESOURCE = _OURS | {"availabilityset", "virtualmachinescaleset"}
_READ_ONLY = frozenset({"id", "name", "type", "etag", "instanceid", "systemdata", "resources"})
_TOLD_BY_US = frozenset({"instanceview", "provisioningstate", "vmid", "latestmodelapplied", "virtualmachines"})
_DEEPEST = 64


def to_keep(body: Json) -> str:
    """The body as it is kept: all of it but what the service itself says, and but secrets and nulls."""
    kept = _but(body, _READ_ONLY | {"zones"})
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = properties = _but(properties, _TOLD_BY_US | _OURS_OF_A_RESOURCE)
        if isinstance(model := properties.get("virtualMachineProfile"), dict):
            properties["virtualMachineProfile"] = _but(model, _OURS)
    return msgspec.json.encode(_worth_keeping(kept)).decode()


def _but(members: Json, names: frozenset[str]) -> Json:
    """The members that have none of these names."""
    return {key: value for key, value in members.items() if key.lower() not in names}


def is_too_deep(value: Any, left: int = _DEEPEST) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether a body is nested deeper than anything that means something."""
    if not isinstance(value, (dict, list)):
        return False
    below = value.values() if isinstance(value, dict) else value
    return left == 0 or any(is_too_deep(each, left - 1) for each in below)


def _worth_keeping(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if each is not None and key.lower() not in _SECRETS}
        return {key: _worth_keeping(each) for key, each in kept.items()}
    if isinstance(value, list):
        return [_worth_keeping(each) for each in value]
    return value


def merge(before: Any, patch: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a PATCH makes of what was there: members are replaced one by one, null takes one away."""
    if not isinstance(before, dict) or not isinstance(patch, dict):
        return patch
    merged = dict(before)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def overlay(before: Json, body: Json) -> Json:
    """What a PUT makes of what is there: members that it does not name stay, as on Azure; tags come as a whole."""
    whole = {} if body.get("tags") is None else {"tags": body["tags"]}
    laid: Json = _lay_over(before, body)
    return laid | whole


def _lay_over(before: Any, given: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(before, dict) or not isinstance(given, dict):
        return before if given is None else given
    return before | {key: _lay_over(before.get(key), value) for key, value in given.items()}
