"""The documents in which Azure's own clients look up where things are, before they sign in."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.responses import Response

from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.operator.guard import base_of
from forewarn.operator.oauth import DirectoryError, answer_problem, issuer_of, judge_tenant

_ANY_TENANT = {"common", "organizations"}


class Authentication(msgspec.Struct, rename="camel"):
    """Where one signs in."""

    login_endpoint: str
    audiences: list[str]
    tenant: str
    identity_provider: str


class CloudEndpoints(msgspec.Struct, rename="camel"):
    """What `az cloud register` reads; everything is here, under this one address."""

    portal: str
    authentication: Authentication
    media: str
    graph_audience: str
    graph: str
    name: str
    suffixes: dict[str, str]
    batch: str
    resource_manager: str
    vm_image_alias_doc: str
    active_directory_data_lake: str
    sql_management: str
    microsoft_graph_resource_id: str
    app_insights_resource_id: str
    log_analytics_resource_id: str
    gallery: str


class OpenIdConfiguration(msgspec.Struct):
    """Where a client gets its tokens."""

    token_endpoint: str
    authorization_endpoint: str
    device_authorization_endpoint: str
    issuer: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: list[str]
    response_types_supported: list[str]
    subject_types_supported: list[str]
    id_token_signing_alg_values_supported: list[str]


class Keys(msgspec.Struct):
    """Public keys: none, since nobody but this service has to check what it signs."""

    keys: list[dict[str, str]]


async def show_cloud(call: Call, _: Nothing) -> CloudEndpoints:
    """What `az cloud register` asks for."""
    base = base_of(call.request.scope)
    return CloudEndpoints(
        portal=base,
        authentication=Authentication(f"{base}/", [f"{base}/"], "common", "AAD"),
        media=base,
        graph_audience=f"{base}/",
        graph=f"{base}/",
        name="forewarn",
        suffixes={},
        batch=base,
        resource_manager=f"{base}/",
        vm_image_alias_doc=f"{base}/",
        active_directory_data_lake=base,
        sql_management=base,
        microsoft_graph_resource_id=f"{base}/",
        app_insights_resource_id=base,
        log_analytics_resource_id=base,
        gallery=base,
    )


async def show_openid(version: str, call: Call, _: Nothing) -> OpenIdConfiguration | Response:
    """Where a client of this tenant gets its tokens."""
    if problem := judge_tenant(call, "invalid_tenant", _ANY_TENANT):
        return answer_problem(call, problem)
    here = f"{base_of(call.request.scope)}/{call.context.sign_in.tenant}"  # also for who asks for any tenant
    return OpenIdConfiguration(
        token_endpoint=f"{here}/oauth2{version}/token",
        authorization_endpoint=f"{here}/oauth2{version}/authorize",
        device_authorization_endpoint=f"{here}/oauth2{version}/devicecode",
        issuer=issuer_of(call),
        jwks_uri=f"{here}/discovery{version}/keys",
        token_endpoint_auth_methods_supported=["client_secret_post", "client_secret_basic"],
        response_types_supported=["code"],
        subject_types_supported=["pairwise"],
        id_token_signing_alg_values_supported=["RS256"],
    )


async def show_keys(_call: Call, _: Nothing) -> Keys:
    """No public keys."""
    return Keys([])


def _endpoints(version: str) -> list[Endpoint]:
    name = "2" if version else "1"
    return [
        Endpoint(
            "GET",
            f"/{{tenant}}{version}/.well-known/openid-configuration",
            partial(show_openid, version),
            f"Where a client gets its tokens, version {name}",
            OpenIdConfiguration,
            is_public=True,
            error=DirectoryError,
        ),
        Endpoint(
            "GET",
            f"/{{tenant}}/discovery{version}/keys",
            show_keys,
            f"Public keys, of which there are none, version {name}",
            Keys,
            is_public=True,
        ),
    ]


ENDPOINTS = [
    Endpoint(
        "GET",
        "/metadata/endpoints",
        show_cloud,
        "Where everything is, for `az cloud register`",
        CloudEndpoints,
        is_public=True,
    ),
    *_endpoints("/v2.0"),
    *_endpoints(""),
]
