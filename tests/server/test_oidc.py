"""Does whoever the issuer names come in, as exactly that, and nobody else?"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from http_server import Served, serve_bench
from issuer import Issuer
from support import Bench

from vademecum.errors import InvalidSetting, ProviderAway, Unauthenticated
from vademecum.server.oidc import begin, finish, known
from vademecum.settings import OidcSettings

BACK = "http://localhost/sign-in/back"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


def settings_of(running: Issuer, **values: Any) -> OidcSettings:
    return OidcSettings.model_validate(
        {"issuer": running.url, "client_id": running.client_id} | values
    )


async def test_who_signs_in_is_who_the_issuer_says(issuer: Issuer) -> None:
    settings = settings_of(issuer)
    begun = await begin(settings, BACK)
    code, state = issuer.sign_in(begun.url)
    assert state == begun.state
    came = await finish(settings, BACK, code, begun)
    assert (came.scope.tenant, came.scope.principal) == ("default", "user:one")
    assert came.scope.labels == {"tenant", "user:one", "group:staff"}
    assert came.permissions == {"read", "memory"}
    assert not came.scope.operator
    with pytest.raises(Unauthenticated):
        await finish(settings, BACK, code, begun)  # a code opens once


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c.update(iss="http://other.example.org"),
        lambda c: c.update(aud="another"),
        lambda c: c.update(aud=["vademecum", "another"]),
        lambda c: c.update(nonce="of another sign-in"),
        lambda c: c.pop("nonce"),
        lambda c: c.update(exp=int(time.time()) - 3600),
        lambda c: c.pop("exp"),
        lambda c: c.update(iat=int(time.time()) + 3600),
        lambda c: c.update(sub=""),
        lambda c: c.update(sub=7),
        lambda c: c.pop("sub"),
    ],
)
async def test_a_token_that_is_not_for_this_sign_in_opens_nothing(
    issuer: Issuer, spoil: Callable[[dict[str, Any]], None]
) -> None:
    settings = settings_of(issuer)
    issuer.spoil = spoil
    begun = await begin(settings, BACK)
    code, _ = issuer.sign_in(begun.url)
    with pytest.raises(Unauthenticated):
        await finish(settings, BACK, code, begun)


async def test_another_key_or_another_verifier_opens_nothing(issuer: Issuer) -> None:
    settings = settings_of(issuer)
    begun = await begin(settings, BACK)
    code, _ = issuer.sign_in(begun.url)
    with pytest.raises(Unauthenticated):
        await finish(settings, BACK, code, replace(begun, verifier="x" * 64))
    issuer.foreign = True
    begun = await begin(settings, BACK)
    code, _ = issuer.sign_in(begun.url)
    with pytest.raises(Unauthenticated):
        await finish(settings, BACK, code, begun)


async def test_claims_become_what_the_settings_say(issuer: Issuer) -> None:
    claims = {"sub": "1", "email": "one@example.org", "org": "arena", "roles": ["ops", 7, ""]}
    named = {"principal": "email", "tenant": "org", "labels": "roles"}
    settings = settings_of(issuer, claims=named, scopes="read", operators="group:ops")
    came = known(settings, claims)
    assert (came.scope.tenant, came.scope.principal) == ("arena", "user:one@example.org")
    assert came.scope.labels == {"tenant", "user:one@example.org", "group:ops"}
    assert came.permissions == {"read", "admin"}
    one = known(settings, claims | {"roles": "ops"})
    assert "group:ops" in one.scope.labels
    with pytest.raises(Unauthenticated):
        known(settings, claims | {"org": ""})
    with pytest.raises(InvalidSetting):
        known(settings_of(issuer, scopes="read,root"), claims)


async def test_an_issuer_that_is_away_or_another_is_said(issuer: Issuer) -> None:
    with pytest.raises(ProviderAway):
        await begin(settings_of(issuer, issuer="http://127.0.0.1:9"), BACK)
    with pytest.raises(InvalidSetting):
        await begin(settings_of(issuer, issuer=issuer.url.replace("127.0.0.1", "localhost")), BACK)


async def test_a_browser_goes_to_the_issuer_and_comes_back_signed_in(
    bench: Bench, tmp_path: Path, issuer: Issuer
) -> None:
    served = serve_bench(
        bench, tmp_path, auth__oidc__issuer=issuer.url, auth__oidc__client_id=issuer.client_id
    )
    async with served.client() as browser:
        assert "/sign-in/issuer" in (await browser.get("/sign-in")).text
        went = await browser.get("/sign-in/issuer")
        assert went.status_code == 303
        code, state = issuer.sign_in(went.headers["location"])
        strange = await browser.get("/sign-in/back", params={"code": code, "state": "x"})
        assert strange.status_code == 401
        back = await browser.get("/sign-in/back", params={"code": code, "state": state})
        assert (back.status_code, back.headers["location"]) == (303, "/")
        cookie = back.headers["set-cookie"]
        assert "vade=vade_" in cookie
        assert "HttpOnly" in cookie
        me = (await browser.get("/api/v1/me")).json()
        assert (me["scope"]["principal"], me["scopes"]) == ("user:one", ["memory", "read"])
    async with served.client() as another:
        went = await another.get("/sign-in/issuer")
        code, state = issuer.sign_in(went.headers["location"])
    async with served.client() as victim:  # a link that somebody else's sign-in ends in
        sent = await victim.get("/sign-in/back", params={"code": code, "state": state})
        assert sent.status_code == 401


async def test_without_an_issuer_there_is_no_way_to_one(served: Served) -> None:
    async with served.client() as browser:
        assert "/sign-in/issuer" not in (await browser.get("/sign-in")).text
        assert (await browser.get("/sign-in/issuer")).status_code == 404
