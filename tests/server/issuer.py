"""An issuer of OpenID Connect for tests: one person, one client, real signatures."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey


class Issuer:
    """A context manager with `url`. `claims` are those of whoever signs in; `spoil` may change the
    token's claims before it is signed; `foreign` signs with a key that is not published."""

    def __init__(self, client_id: str = "vademecum") -> None:
        self.client_id = client_id
        self.claims: dict[str, Any] = {"sub": "one", "groups": ["staff"]}
        self.spoil: Callable[[dict[str, Any]], None] = lambda _: None
        self.foreign = False
        self.codes: dict[str, dict[str, str]] = {}
        self._key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self._other = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _exchange_of(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def sign_in(self, url: str) -> tuple[str, str]:
        """Do what a person does at the issuer's page; return code and state."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["client_id"] == self.client_id
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return code, asked["state"]

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Exchange a code, once, for whoever proves that they asked for it."""
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return None
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": self.client_id, "nonce": asked["nonce"], "iat": now,
            "exp": now + 300,
        } | self.claims  # fmt: skip
        self.spoil(claims)
        key = self._other if self.foreign else self._key
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)
        return {"access_token": "x", "token_type": "Bearer", "id_token": signed}

    def facts(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }

    def keys(self) -> dict[str, Any]:
        return dict(KeySet([self._key]).as_dict(private=False))


def _exchange_of(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Exchange(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {
                "/.well-known/openid-configuration": issuer.facts,
                "/keys": issuer.keys,
            }
            self._json(answers[self.path]())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            token = issuer.token(form)
            self._json(token or {"error": "invalid_grant"}, 200 if token else 400)

        def _json(self, value: Any, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    return Exchange
