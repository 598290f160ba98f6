"""Who signs in with an issuer of their own? OpenID Connect, by authorisation code with PKCE.

The issuer's word counts for who somebody is and which groups they are in; what that lets them do is
said by the settings alone. Its address comes from the settings too, so it is asked directly.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from vademecum.errors import InvalidSetting, ProviderAway, Unauthenticated
from vademecum.model.principal import Scope
from vademecum.model.serving.key import PERMISSIONS, Permission
from vademecum.settings import OidcSettings

_ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA", "Ed25519"]
_SECONDS = 10.0
_LEEWAY_SECONDS = 60
_HINT = "check auth.oidc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Where a browser goes to sign in, and what it keeps until it comes back."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Whoever came back, and what they may."""

    scope: Scope
    permissions: frozenset[Permission]


async def begin(settings: OidcSettings, redirect: str) -> Begun:
    """Return where to send a browser. Raises: ProviderAway, InvalidSetting."""
    facts = await _discovered(settings)
    state, nonce, verifier = generate_token(32), generate_token(32), generate_token(64)
    async with _client(settings, redirect) as client:
        url, _ = client.create_authorization_url(
            str(facts["authorization_endpoint"]), state=state, nonce=nonce, code_verifier=verifier
        )
    return Begun(url=url, state=state, nonce=nonce, verifier=verifier)


async def finish(settings: OidcSettings, redirect: str, code: str, begun: Begun) -> Known:
    """Return who came back with a code. Raises: Unauthenticated, ProviderAway, InvalidSetting."""
    facts = await _discovered(settings)
    try:
        async with _client(settings, redirect) as client:
            token = await client.fetch_token(
                str(facts["token_endpoint"]), code=code, code_verifier=begun.verifier
            )
    except (httpx.HTTPError, ValueError) as error:
        raise ProviderAway("the issuer does not answer as it should", hint=_HINT) from error
    except AuthlibBaseError as error:
        raise _refused() from error
    keys = await _fetched(str(facts["jwks_uri"]))
    claims = _claims(str(token.get("id_token", "")), keys)
    _check(claims, settings, facts, begun.nonce)
    return known(settings, claims)


def known(settings: OidcSettings, claims: Mapping[str, Any]) -> Known:
    """Return whom claims name, and what the settings let them do. Raises: Unauthenticated."""
    names = settings.claims
    person = claims.get(names.principal)
    tenant = claims.get(names.tenant) if names.tenant else settings.tenant
    if not (isinstance(person, str) and person.strip() and isinstance(tenant, str) and tenant):
        raise _refused()
    groups = claims.get(names.labels, []) if names.labels else []
    told = [groups] if isinstance(groups, str) else groups
    labels = frozenset(f"group:{name}" for name in told if isinstance(name, str) and name)
    permissions = _permissions(settings)
    if settings.operators and settings.operators in labels:
        permissions |= {"admin"}
    scope = Scope.for_principal(tenant, f"user:{person}", labels)
    return Known(scope=scope, permissions=permissions)


def _permissions(settings: OidcSettings) -> frozenset[Permission]:
    named = {name.strip() for name in settings.scopes.split(",")}
    if unknown := sorted(named - set(PERMISSIONS)):
        raise InvalidSetting(
            f"auth.oidc.scopes names {unknown[0]!r}", hint=f"use {', '.join(PERMISSIONS)}"
        )
    return frozenset(name for name in PERMISSIONS if name in named)


def _client(settings: OidcSettings, redirect: str) -> AsyncOAuth2Client:
    secret = settings.client_secret
    return AsyncOAuth2Client(
        client_id=settings.client_id,
        client_secret=secret.get_secret_value() if secret else None,
        token_endpoint_auth_method="client_secret_basic" if secret else "none",
        scope="openid profile email",
        redirect_uri=redirect,
        code_challenge_method="S256",
        timeout=_SECONDS,
        trust_env=False,
    )


async def _discovered(settings: OidcSettings) -> dict[str, Any]:
    """Return what the issuer says of itself; it must be the one that was asked."""
    issuer = settings.issuer.rstrip("/")
    facts = await _fetched(f"{issuer}/.well-known/openid-configuration")
    needed = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
    if not all(isinstance(facts.get(name), str) for name in needed):
        raise ProviderAway("the issuer does not say what it needs to", hint=_HINT)
    if str(facts["issuer"]).rstrip("/") != issuer:
        raise InvalidSetting(
            f"the issuer calls itself {facts['issuer']}", hint="set auth.oidc.issuer to that"
        )
    return facts


async def _fetched(url: str) -> dict[str, Any]:
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
            answer = await client.get(url)
            found: dict[str, Any] = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise ProviderAway("the issuer does not answer as it should", hint=_HINT) from error
    return found


def _claims(id_token: str, keys: Any) -> dict[str, Any]:
    try:
        read = jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=_ALGORITHMS)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _refused() from error
    return dict(read.claims)


def _check(
    claims: Mapping[str, Any], settings: OidcSettings, facts: Mapping[str, Any], nonce: str
) -> None:
    """Raise Unauthenticated unless the token is the issuer's own, for us, for this sign-in and for
    now (OpenID Connect Core 1.0, section 3.1.3.7)."""
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    ours = settings.client_id in audiences
    sole = len(audiences) == 1 or claims.get("azp") == settings.client_id
    until = claims.get("exp")
    lasting = isinstance(until, int | float) and until + _LEEWAY_SECONDS > time.time()
    begun = claims.get("iat", 0)
    past = isinstance(begun, int | float) and begun - _LEEWAY_SECONDS < time.time()
    if not (
        claims.get("iss") == facts["issuer"]
        and claims.get("nonce") == nonce
        and ours
        and sole
        and lasting
        and past
    ):
        raise _refused()


def _refused() -> Unauthenticated:
    return Unauthenticated("the issuer did not say who this is", hint="sign in once more")
