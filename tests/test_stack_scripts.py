"""The scripts of the container stack that decide something, without a container: secrets, weak ones, older schemas."""

import importlib.util
import os
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest
from checkout import ROOT

GOOD = "fK3-_uT9bQzYwX71pLmNvR20"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"stack_{name}", ROOT / "docker" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # as a dataclass looks itself up there
    spec.loader.exec_module(found)
    return found


check, envfile, schema = (script(name) for name in ("check", "envfile", "schema"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".env.example").write_text((ROOT / ".env.example").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / ".dvc").mkdir()
    return tmp_path


def written(root: Path) -> dict[str, str]:
    return dict(envfile.settings((root / ".env").read_text(encoding="utf-8")))


def test_secrets_are_made_once_and_are_for_their_owner_alone(checkout: Path) -> None:
    assert envfile.main(checkout) == 0
    first = written(checkout)
    secrets = [first[name] for name in check.SECRETS]
    assert len(set(secrets)) == len(check.SECRETS)
    assert [check.weak(name, first[name]) for name in check.SECRETS] == [None] * len(check.SECRETS)
    assert stat.S_IMODE((checkout / ".env").stat().st_mode) == 0o600
    assert envfile.main(checkout) == 0
    assert written(checkout) == first


def test_what_was_set_by_hand_is_kept_and_a_new_setting_is_added(checkout: Path) -> None:
    (checkout / ".env").write_text(
        f"APP_PASSWORD={GOOD}\nAPP_PORT=9000\nPREFECT_PASSWORD=generated\n", encoding="utf-8"
    )
    assert envfile.main(checkout) == 0
    found = written(checkout)
    assert (found["APP_PASSWORD"], found["APP_PORT"]) == (GOOD, "9000")
    assert found["PREFECT_PASSWORD"] != "generated"
    assert found.keys() == envfile.settings((checkout / ".env.example").read_text(encoding="utf-8")).keys()


def test_a_misspelt_setting_is_refused_and_nothing_is_written(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".env").write_text("APP_PASWORD=x\n", encoding="utf-8")
    assert envfile.main(checkout) == 2
    assert "APP_PASWORD" in capsys.readouterr().err
    assert written(checkout) == {"APP_PASWORD": "x"}


def test_containers_never_run_as_root(checkout: Path) -> None:
    assert 0 not in envfile.owner(checkout)
    envfile.main(checkout)
    assert int(written(checkout)["PIVOTLINE_UID"]) == envfile.owner(checkout)[0]


def test_a_dataset_keeps_its_owner(checkout: Path) -> None:
    (checkout / "data").mkdir()
    (checkout / "data" / "dataset.json").write_text("{}", encoding="utf-8")
    before = (checkout / "data").stat().st_uid
    envfile.main(checkout)
    assert (checkout / "data").stat().st_uid == before
    assert (checkout / ".dvc" / "tmp").stat().st_uid == envfile.owner(checkout)[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "has 0 characters"),
        ("changeme", "has 8 characters"),
        ("generated", "has 9 characters"),
        ("password1234password1234", "can be guessed"),
        ("my-Admin-my-Admin-word", "can be guessed"),
        ("abababababababababab", "can be guessed"),
        ("fK3:/@uT9bQzYwX71pLmNvR20", "other characters"),
        ("fK3 uT9bQzYwX71pLmNvR20", "other characters"),
        ("fKüuT9bQzYwX71pLmNvR20", "other characters"),
    ],
)
def test_a_weak_secret_is_refused_without_being_repeated(value: str, said: str) -> None:
    found = check.weak("APP_PASSWORD", value)
    assert found.startswith("APP_PASSWORD ")
    assert said in found
    assert "make secrets" in found
    assert not value or value not in found


def test_every_problem_of_a_start_is_named_at_once(tmp_path: Path) -> None:
    good = dict.fromkeys(check.SECRETS, GOOD)
    (tmp_path / "data").mkdir()
    (tmp_path / ".dvc" / "tmp").mkdir(parents=True)
    for name in check.NEEDED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert check.problems(good, tmp_path, 1000) == []
    bad = check.problems({}, tmp_path / "no such checkout", 0)
    assert len(bad) == len(check.SECRETS) + 3
    assert bad[-3].startswith("PIVOTLINE_UID is 0")
    assert "chmod" in bad[-2]


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "params.yaml")
    assert check.unreadable(ROOT).startswith("params.yaml of the checkout")


MIGRATIONS = [
    'revision = "c3"\ndown_revision: str | None = "b2"\n',
    "revision = 'a1'\ndown_revision = None\n",
    'revision: str = "b2"\ndown_revision = ("a1",)\n',
]


def test_the_newest_schema_is_the_one_that_no_other_replaces() -> None:
    assert schema.lineage(MIGRATIONS) == ("c3", {"a1", "b2", "c3"})


@pytest.mark.parametrize("database", schema.DATABASES, ids=lambda database: database.name)
def test_the_installed_servers_have_one_newest_schema(database: schema.Database) -> None:
    newest, known = schema.lineage(database.migrations())
    assert newest in known
    assert len(known) == sum("down_revision" in text for text in database.migrations())


def test_only_an_older_or_unknown_schema_stops_the_start() -> None:
    database, known = schema.DATABASES[0], {"a1", "b2", "c3"}
    assert schema.verdict(database, None, "c3", known) is None
    assert schema.verdict(database, "c3", "c3", known) is None
    assert schema.verdict(database, "b2", "c3", known).endswith("run make upgrade")
    assert schema.verdict(database, "z9", "c3", known).endswith("use the newer image")
