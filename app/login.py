"""Who may see the page: anyone on a laptop, in containers those who know the password or whom an OIDC provider names.

The password comes from `APP_PASSWORD`; an `[auth]` section in `.streamlit/secrets.toml` puts the provider in its place,
and `APP_USERS` names the mail addresses that it lets in.
"""

import hmac
import os
import threading
import time
from collections.abc import Mapping

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

COOKIE = "pivotline_login"
REMEMBERED_S = 12 * 3600
DELAY_S = 1.0  # what a wrong guess costs everybody who guesses
REMEMBER = """export default function({ data }) {
  document.cookie = `${data.name}=${data.token}; Max-Age=${data.seconds}; Path=/; SameSite=Strict`
}"""
guessing = threading.Lock()


def require() -> None:
    """Returns for those who may see the page; anyone else gets a way to log in, and the script ends here."""
    if provider_configured():
        by_provider()
    elif password := os.environ.get("APP_PASSWORD"):
        by_password(password)


def is_in() -> bool:
    """Whether `require` would return: the menu is for those who may use it."""
    if provider_configured():
        return bool(st.user.is_logged_in) and invited(st.user.to_dict(), os.environ.get("APP_USERS", ""))
    password = os.environ.get("APP_PASSWORD")
    return not password or "logged_in" in st.session_state or valid(cookie(), password, time.time())


def provider_configured() -> bool:
    try:
        return "auth" in st.secrets
    except StreamlitSecretNotFoundError:
        return False


def by_provider() -> None:
    if not st.user.is_logged_in:
        st.title("Pivotline")
        st.button("Log in", type="primary", on_click=st.login)
        st.stop()
    if not invited(st.user.to_dict(), os.environ.get("APP_USERS", "")):
        st.error("This account may not see the page: APP_USERS does not name its mail address.")
        st.button("Log out", on_click=st.logout)
        st.stop()


def invited(user: Mapping[str, object], users: str) -> bool:
    """Only a verified mail address counts; a provider that does not say so is believed, one that denies it is not."""
    names = {name.strip().lower() for name in users.split(",") if name.strip()}
    return user.get("email_verified") is not False and str(user.get("email", "")).lower() in names


def by_password(password: str) -> None:
    if "logged_in" not in st.session_state and valid(cookie(), password, time.time()):
        st.session_state.logged_in = True
    if st.session_state.get("logged_in"):
        if st.session_state.pop("just_logged_in", False):
            remember(password)
        return
    st.title("Pivotline")
    with st.form("login", width=360):
        given = st.text_input("Password", type="password", help="`APP_PASSWORD` in `.env`")
        sent = st.form_submit_button("Log in", type="primary")
    if sent and right(given, password):
        st.session_state.update(logged_in=True, just_logged_in=True)
        st.rerun()
    if sent:
        st.error("That is not the password.")
    st.stop()


def cookie() -> str:
    return st.context.cookies.get(COOKIE, "")


def right(given: str, password: str) -> bool:
    """Compared in constant time; wrong guesses wait for each other: a program gets no more than one a second."""
    if hmac.compare_digest(given.encode(), password.encode()):
        return True
    with guessing:
        time.sleep(DELAY_S)
    return False


def remember(password: str) -> None:
    """Leaves a cookie that logs this browser in after a reload; only this server can make one, and it runs out."""
    component = st.components.v2.component("login_cookie", js=REMEMBER)
    component(data={"name": COOKIE, "token": token(password, time.time() + REMEMBERED_S), "seconds": REMEMBERED_S})


def token(password: str, expires_at: float) -> str:
    signature = hmac.new(password.encode(), f"{COOKIE}.{int(expires_at)}".encode(), "sha256").hexdigest()
    return f"{int(expires_at)}.{signature}"


def valid(given: str, password: str, now: float) -> bool:
    """Whether a token is ours and has not run out. Changing the password ends all of them."""
    expires = given.split(".")[0]
    if not expires.isascii() or not expires.isdigit() or len(expires) > 12:
        return False
    return hmac.compare_digest(given.encode(), token(password, int(expires)).encode()) and now < int(expires)
