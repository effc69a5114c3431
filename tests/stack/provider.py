"""A small OpenID Connect provider in a container of its own: whoever asks to log in is the user of one mail address.

provider.py ISSUER MAIL CLIENT SECRET. The image of the services has what it needs.
"""

import secrets
import sys
import time
from urllib.parse import urlencode

from flask import Flask, redirect, request
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug import Response

LASTS_S = 300


def provider(issuer: str, mail: str, client: str, secret: str) -> Flask:
    app, key, nonces = Flask(__name__), RSAKey.generate_key(2048, {"kid": "test", "use": "sig"}), {}

    @app.get("/.well-known/openid-configuration")
    def configuration() -> dict[str, object]:
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    @app.get("/keys")
    def keys() -> dict[str, object]:
        return {"keys": [key.as_dict(private=False)]}

    @app.get("/authorize")
    def authorize() -> Response:
        code = secrets.token_urlsafe(16)
        nonces[code] = request.args["nonce"]
        return redirect(f"{request.args['redirect_uri']}?{urlencode({'code': code, 'state': request.args['state']})}")

    @app.post("/token")
    def token() -> tuple[dict[str, object], int]:
        login = request.authorization
        if login is None or (login.username, login.password) != (client, secret):
            return {"error": "invalid_client"}, 401
        now = int(time.time())
        claims = {"iss": issuer, "sub": "1", "aud": client, "iat": now, "exp": now + LASTS_S, "email": mail}
        claims["nonce"] = nonces.pop(request.form["code"])
        signed = jwt.encode({"alg": "RS256", "kid": "test"}, claims, key)
        return {"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": signed}, 200

    return app


if __name__ == "__main__":
    provider(*sys.argv[1:]).run(host="0.0.0.0", port=9000)
