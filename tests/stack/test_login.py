"""A login by an OpenID Connect provider takes the password's place and lets in whom `APP_USERS` names, nobody else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import CHROMIUM, train_page
from containers import Stack, wait_for
from playwright.sync_api import expect

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}")
MAIL = "anna@example.org"
CLIENT, SECRET = "pivotline", "between-the-page-and-its-provider"
VIEW = re.compile("^(Overview|Train)$")
SERVE = 'exec python -c "$0" http://$(hostname -i):9000 "$@"'
SECTION = """[auth]
redirect_uri = "{page}/oauth2callback"
cookie_secret = "{cookie}"
client_id = "{client}"
client_secret = "{secret}"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
"""


@pytest.fixture
def issuer(healthy: Stack) -> Iterator[str]:
    """A provider beside the page, which a browser on this machine reaches at the same address."""
    found = healthy.engine.containers.run(
        healthy.container("app").attrs["Config"]["Image"],
        ["sh", "-c", SERVE, Path(__file__).with_name("provider.py").read_text(encoding="utf-8"), MAIL, CLIENT, SECRET],
        network=f"{healthy.name}_back",
        detach=True,
    )
    try:
        wait_for("the provider", 120, lambda: b"Running on" in found.logs())
        found.reload()
        yield f"http://{found.attrs['NetworkSettings']['Networks'][f'{healthy.name}_back']['IPAddress']}:9000"
    finally:
        found.remove(force=True)


@pytest.fixture
def configured(healthy: Stack, issuer: str) -> Iterator[Stack]:
    """The page told of the provider by its own settings file."""
    path = healthy.root / ".streamlit" / "secrets.toml"
    cookie, page = healthy.settings["MLFLOW_SECRET_KEY"][::-1], healthy.address("page")
    text = SECTION.format(page=page, cookie=cookie, client=CLIENT, secret=SECRET, issuer=issuer)
    path.write_text(text, encoding="utf-8")
    yield healthy
    path.unlink()
    healthy.set("APP_USERS", "")
    healthy.up("--force-recreate", "--no-deps", "app")


@pytest.mark.parametrize(("users", "invited"), [(MAIL, True), ("berta@example.org", False)])
def test_a_provider_s_user_comes_in_when_invited(configured: Stack, users: str, invited: bool) -> None:
    configured.set("APP_USERS", users)
    configured.up("--force-recreate", "--no-deps", "app")
    with train_page(configured) as page:
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        expect(page.get_by_label("Password", exact=True)).not_to_be_visible()
        page.get_by_role("button", name="Log in").click()
        if invited:
            expect(page.get_by_role("heading", name=VIEW)).to_be_visible()
        else:
            expect(page.get_by_text("This account may not see the page")).to_be_visible()
            expect(page.get_by_role("heading", level=1)).not_to_be_visible()
