"""The OpenAPI page, made from the endpoints themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from forewarn import __version__
from forewarn.operator.endpoint import CSV, Endpoint, Nothing
from forewarn.wire.rest import ErrorBody

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


# What a route needs stands in `x-role`; a service to which nobody was given a credential needs nothing.
_SCHEMES = {"bearer": {"type": "http", "scheme": "bearer", "description": "a token, or a principal's JWT"}}


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole page."""
    listed = list(endpoints)
    bodies = [each.described_body for each in listed if each.body is not Nothing]
    errors = [each.error for each in listed if each.error is not ErrorBody]
    dry = [each.dry_answer for each in listed if each.dry_answer is not None]
    types = [each.answer for each in listed] + bodies + dry + errors + [ErrorBody]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = {id(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in listed:
        path = _PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "forewarn",
            "version": __version__,
            "description": "Maintenance of virtual machines, announced before it happens.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SCHEMES},
    }


def _operation(endpoint: Endpoint, schema_of: dict[int, Any]) -> dict[str, Any]:
    refused = schema_of[id(ErrorBody)]
    if endpoint.error is not ErrorBody:  # a request that does not reach the handler is refused as all others are
        refused = {"anyOf": [schema_of[id(endpoint.error)], refused]}
    error = {"application/json": {"schema": refused}}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "description": text, "schema": {"type": "string"}}
        for name, text in endpoint.parameters.items()
    ]
    found: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()}{re.sub(r'[^A-Za-z0-9]+', '_', endpoint.path).rstrip('_')}",
        "parameters": parameters,
        "security": [] if endpoint.needs is None else [{"bearer": []}],
        "x-role": endpoint.needs,
        "responses": {
            str(endpoint.status): {
                "description": "Done",
                "content": {endpoint.media_type: {"schema": schema_of[id(endpoint.answer)]}}
                | ({CSV: {"schema": {"type": "string"}}} if endpoint.also_csv else {}),
            },
            "default": {"description": "Refused: what was asked, what stands in the way", "content": error},
        },
    }
    if endpoint.dry_answer is not None:
        _add_dry_run(found["responses"], endpoint, schema_of)
    if endpoint.body is not Nothing:
        kind = endpoint.described_body
        content = {endpoint.body_media_type: {"schema": schema_of[id(kind)]}}
        found["requestBody"] = {"required": _has_required(kind), "content": content}
    return found


def _add_dry_run(responses: dict[str, Any], endpoint: Endpoint, schema_of: dict[int, Any]) -> None:
    """A dry run answers 200, in a form of its own or in that of the request itself."""
    if endpoint.dry_answer is endpoint.answer:
        return
    schema = schema_of[id(endpoint.dry_answer)]
    if done := responses.get("200"):
        content = done["content"][endpoint.media_type]
        content["schema"] = {"anyOf": [content["schema"], schema]}
        return
    what = "A dry run: what the request would do; nothing was changed"
    responses["200"] = {"description": what, "content": {"application/json": {"schema": schema}}}


def _has_required(kind: Any) -> bool:  # noqa: ANN401 - a type
    """Whether something has to be said; a request without a body counts as `{}`."""
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return not is_struct or any(each.required for each in msgspec.structs.fields(kind))
