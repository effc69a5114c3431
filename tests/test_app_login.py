"""The page's door: closed without the password, open on a laptop, and no cookie but our own opens it."""

import time

import pytest
from checkout import ROOT
from streamlit.testing.v1 import AppTest

from app import login

PASSWORD = "correct-horse-battery-staple"
NOW = 1_800_000_000


def door() -> None:
    import streamlit as st

    from app import login

    login.require()
    st.write("inside")


def opened() -> AppTest:
    return AppTest.from_function(door, default_timeout=30).run()


def inside(page: AppTest) -> bool:
    assert not page.exception
    return [element.value for element in page.markdown] == ["inside"]


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    monkeypatch.setattr(login, "DELAY_S", 0.2)
    monkeypatch.setattr(login, "cookie", lambda: "")
    return PASSWORD


def test_without_a_password_there_is_no_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APP_PASSWORD", raising=False)
    assert inside(opened())


def test_the_menu_is_for_those_who_are_in(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not login.is_in()
    monkeypatch.setattr(login, "cookie", lambda: login.token(password, time.time() + 60))
    assert login.is_in()
    monkeypatch.delenv("APP_PASSWORD")
    assert login.is_in()


def test_the_password_opens_and_keeps_it_open(password: str) -> None:
    page = opened()
    assert not inside(page)
    page.text_input[0].set_value(password)
    page.button[0].click().run()
    assert inside(page)
    assert inside(page.run())


@pytest.mark.parametrize("wrong", ["", "wrong", PASSWORD.upper(), PASSWORD + " ", "пароль"])
def test_a_wrong_password_waits_and_shows_nothing(password: str, wrong: str) -> None:
    page = opened()
    page.text_input[0].set_value(wrong)
    started = time.monotonic()
    page.button[0].click().run()
    assert time.monotonic() - started >= 0.2
    assert not inside(page)
    assert page.error[0].value == "That is not the password."


def test_our_cookie_is_taken_until_it_runs_out(password: str) -> None:
    ours = login.token(password, NOW + 10)
    assert login.valid(ours, password, NOW)
    assert not login.valid(ours, password, NOW + 10)
    assert not login.valid(ours, "another-password-entirely", NOW)


def test_a_browser_with_our_cookie_need_not_give_the_password(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "cookie", lambda: login.token(password, time.time() + 60))
    assert inside(opened())


@pytest.mark.parametrize(
    "forged",
    ["", "x", f"{NOW + 10}", f"{NOW + 10}.", f"{NOW + 10}.{'0' * 64}", "9" * 400 + ".0", "²" + ".0", f"-{NOW}.0"],
)
def test_no_other_cookie_is(password: str, forged: str) -> None:
    assert not login.valid(forged, password, NOW)


def test_a_longer_life_cannot_be_written_into_a_cookie(password: str) -> None:
    signature = login.token(password, NOW + 10).split(".")[1]
    assert not login.valid(f"{NOW + 99999}.{signature}", password, NOW)


@pytest.mark.parametrize(
    ("user", "users", "invited"),
    [
        ({"email": "Ada@x.org"}, "ada@x.org, b@x.org", True),
        ({"email": "ada@x.org", "email_verified": True}, "ada@x.org", True),
        ({"email": "ada@x.org", "email_verified": False}, "ada@x.org", False),
        ({"email": "eve@x.org"}, "ada@x.org", False),
        ({"email": "eve@x.org"}, "", False),
        ({}, "", False),
        ({}, ",", False),
    ],
)
def test_a_provider_lets_in_whom_app_users_names(user: dict[str, object], users: str, invited: bool) -> None:
    assert login.invited(user, users) is invited


def test_the_frame_asks_before_it_shows_a_view(password: str) -> None:
    page = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=60).run()
    assert not page.exception
    assert [title.value for title in page.title] == ["Pivotline"]
    assert [entry.label for entry in page.text_input] == ["Password"]
