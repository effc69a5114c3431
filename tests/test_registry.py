"""Who is champion, who was it before, and that two who ask at once are told apart."""

import shutil
import threading
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient
from record import give_record
from trained import DATASET, trained

from flows import aliases, history, models, registry, tracking
from flows.aliases import outranks
from flows.history import Change
from flows.project import Project
from flows.versionview import SCORE, SIMULATED_TAG


def tags(simulated: bool, score: float | None) -> dict[str, str]:
    plain = {SIMULATED_TAG: str(simulated).lower()}
    return plain if score is None else plain | {SCORE: repr(score)}


@pytest.mark.parametrize(
    ("new", "held", "expected"),
    [
        (tags(True, 0.6), tags(True, 0.5), True),
        (tags(True, 0.5), tags(True, 0.5), False),
        (tags(True, 0.4), tags(True, 0.5), False),
        (tags(False, 0.4), tags(True, 0.9), True),
        (tags(True, 0.9), tags(False, 0.4), False),
        (tags(False, None), tags(False, 0.4), False),
        (tags(False, 0.4), tags(False, None), True),
        (tags(False, None), tags(False, None), False),
    ],
)
def test_who_outranks_whom(new: dict[str, str], held: dict[str, str], expected: bool) -> None:
    better, reason = outranks(new, held, 3)
    assert better is expected
    assert "version 3" in reason


def change(number: int, version: int, before: int | None, kind: str = history.PROMOTED) -> Change:
    return Change(number=number, version=version, before=before, kind=kind, reason=f"r{number}", at="now")


@pytest.mark.parametrize(
    ("steps", "champion", "expected"),
    [
        ([change(1, 1, None)], 1, []),
        ([change(1, 1, None), change(2, 2, 1)], 2, [1]),
        ([change(1, 1, None), change(2, 2, 1), change(3, 3, 2)], 3, [2, 1]),
        ([change(1, 1, None), change(2, 2, 1), change(3, 3, 2), change(4, 2, 3, history.BACK)], 2, [1]),
        ([change(1, 1, None), change(2, 2, 1), change(3, 1, 2, history.BACK)], 1, []),
        ([change(1, 1, None), change(2, 2, 1), change(3, 3, 2)], 2, [1]),  # killed before the alias moved to 3
        ([change(1, 1, None), change(2, 2, 1), change(3, 3, 2), change(4, 4, 2)], 4, [2, 1]),  # the same, then 4
        ([change(1, 1, None), change(2, 3, 2)], 3, [2]),  # someone made 2 champion in MLflow
    ],
)
def test_the_way_back_undoes_one_promotion_at_a_time(steps: list[Change], champion: int, expected: list[int]) -> None:
    tags = dict(step.tag() for step in steps)
    assert history.earlier(history.changes(tags, champion), champion) == expected


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_bytes((Path(__file__).parents[1] / name).read_bytes())
    monkeypatch.setenv("PIVOTLINE_PROJECT", str(tmp_path))
    monkeypatch.setenv("PIVOTLINE_STATE", str(tmp_path / "state"))
    return give_record(Project(root=tmp_path, state=tmp_path / "state"))


def register(project: Project, run_id: str, right: int, simulated: bool = False) -> registry.Registered:
    client, record = tracking.client(project), trained(project, run_id, right, simulated)
    run = client.create_run(tracking.experiment_id(client), tags={"pivotline.run_id": run_id})
    return registry.register(project, client, run.info.run_id, project.workspace(run_id), record)


def bare(client: MlflowClient, count: int) -> None:
    """Versions without files, for tests of aliases alone."""
    client.create_registered_model("pivotline")
    for _ in range(count):
        client.create_model_version("pivotline", "file:///nothing", None)


def test_versions_say_what_they_are_and_give_their_files(project: Project) -> None:
    assert models.versions() == []
    register(project, "20261130-120000-aaaaaa", 5)
    second = register(project, "20261130-120001-bbbbbb", 7, simulated=True)
    third = register(project, "20261130-120002-cccccc", 6)
    assert second.champion == "version 1 was trained on real data"
    assert third.aliases == ("candidate", "champion")
    newest, middle, oldest = models.versions()
    assert (newest.aliases, middle.aliases, oldest.aliases) == (("candidate", "champion"), (), ())
    assert (newest.score, newest.chance, newest.parameters) == (0.75, pytest.approx(1 / 3), 1234)
    assert newest.interval
    assert newest.interval[0] < 0.75 < newest.interval[1]
    assert (newest.reason, oldest.reason, middle.reason) == ("better than version 1", "there was no champion", "")
    assert (middle.simulated, newest.dataset_version, newest.kind) == (True, DATASET, "transformer")
    folder = models.model_folder(3)
    registered = project.workspace(newest.run_id) / "artifacts" / "model" / "scaler.json"
    assert (folder / "scaler.json").read_bytes() == registered.read_bytes()
    (folder / "scaler.json").write_text("{}")  # damaged here: fetched again
    assert (models.model_folder(3) / "scaler.json").read_bytes() == registered.read_bytes()
    with pytest.raises(ValueError, match="not registered"):
        models.model_folder(9)


def test_a_model_that_was_changed_in_mlflow_is_refused(project: Project) -> None:
    register(project, "20261130-120000-aaaaaa", 5)
    (weights,) = (project.state / "mlartifacts" / "models").rglob("weights.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"weights\.safetensors in MLflow is not what was registered"):
        models.model_folder(1)
    assert not list((project.state / "models").rglob("weights.safetensors"))


def test_promote_and_roll_back_keep_the_history(project: Project) -> None:
    bare(tracking.client(project), 3)
    assert models.promote(1, "first") == "version 1 is the champion"
    assert models.promote(3, " better   on\nreal data ") == "version 3 is the champion; it was version 1"
    assert models.versions()[0].reason == "better on real data"
    assert "version 1 is the champion again" in models.roll_back("worse in use")
    with pytest.raises(ValueError, match="no earlier champion"):
        models.roll_back("again")
    for version, reason, words in ((1, "why not", "already"), (9, "new", "not there"), (2, "  ", "say why")):
        with pytest.raises(ValueError, match=words):
            models.promote(version, reason)
    _, model = aliases.look(tracking.client(project), "pivotline")
    assert [(entry.version, entry.kind) for entry in history.changes(model.tags, 1)] == [
        (1, history.PROMOTED), (3, history.PROMOTED), (1, history.BACK)
    ]  # fmt: skip


def test_a_version_whose_files_are_gone_never_becomes_champion(project: Project) -> None:
    for number, right in enumerate((5, 6, 7, 4)):
        register(project, f"20261130-12000{number}-aaaaa{number}", right)
    first, second, third, _ = sorted(models.versions(), key=lambda view: view.version)
    assert [view.aliases for view in (first, second, third)] == [(), (), ("champion",)]
    shutil.rmtree(project.state / "mlartifacts" / "models" / second.model_id)
    with pytest.raises(
        ValueError, match=r"version 2 .*lost its config\.json, scaler\.json, weights\.safetensors; the alias"
    ):
        models.promote(2, "it was good")
    (weights,) = (project.state / "mlartifacts" / "models" / third.model_id).rglob("weights.safetensors")
    weights.unlink()
    assert models.earlier_champion() == 1
    assert models.roll_back("the newer are lost") == "version 1 is the champion again; it was version 3"
    tracking.client(project).delete_logged_model(third.model_id)
    with pytest.raises(ValueError, match=r"version 3 .*lost its"):
        models.promote(3, "once more")
    with pytest.raises(ValueError, match=r"version 3 .*lost its"):
        models.model_folder(3)


def test_the_loser_of_two_promotions_at_once_is_told(project: Project) -> None:
    client = tracking.client(project)
    bare(client, 3)
    for _ in range(30):
        seen, _ = aliases.look(client, "pivotline")
        wanted = [version for version in (1, 2, 3) if version != seen.champion][:2]
        told: list[str] = []

        def ask(version: int, seen: aliases.Seen = seen, told: list[str] = told) -> None:
            try:
                aliases.promote(project, client, "pivotline", version, f"for {version}", seen)
            except ValueError as error:
                told.append(str(error))

        both = [threading.Thread(target=ask, args=(version,)) for version in wanted]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert len(told) == 1
        assert "while you asked: nothing was done" in told[0]
        held = client.get_model_version_by_alias("pivotline", "champion")
        assert held.status == "READY"
        assert int(held.version) in wanted
    _, model = aliases.look(client, "pivotline")
    assert len(history.changes(model.tags, int(model.aliases["champion"]))) == 30
