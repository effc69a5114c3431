"""params.yaml: every key is known, every unknown one is an error, and it agrees with dvc.yaml."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, shipped, stage_params

from flows.params import Params, as_dict, change, load_params, merge, model_config, parse_change, write_params


def test_the_shipped_file_holds_every_setting_and_no_other() -> None:
    written = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    known = as_dict(Params())
    assert {name: set(section) for name, section in written.items()} == {name: set(s) for name, s in known.items()}


def test_the_shipped_settings_are_the_defaults() -> None:
    assert shipped() == Params()


def test_stages_name_only_sections_that_exist() -> None:
    sections = {entry.name for entry in fields(Params)}
    assert all(set(names) <= sections for names in stage_params().values())
    assert set(stage_params()) <= sections


def test_settings_survive_the_file(tmp_path: Path) -> None:
    changed = change(Params(), {"train": {"learning_rate": 1e-5, "batch_size": "auto"}})
    write_params(tmp_path / "params.yaml", changed)
    assert load_params(tmp_path / "params.yaml") == changed


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("train: {epocs: 3}", "unknown key train.epocs"),
        ("trian: {epochs: 3}", "unknown section 'trian'"),
        ("train: {epochs: 0}", "train: epochs is 0, expected"),
        ("train: {epochs: many}", "train: epochs is 'many', expected"),
        ("train: {epochs: 1.5}", "train: epochs is 1.5, expected"),
        ("train: {learning_rate: .nan}", "learning_rate"),
        ("train: 3", "train: expected keys and values"),
        ("- 3", "expected sections"),
        ("train: {epochs: [", "not YAML"),
        ("model: {preset: huge}", "preset is 'huge'"),
        ("train:\n  epochs: !!timestamp 99", "line 2: the tag !!timestamp is no plain value"),
        ("train:\n  epochs: !!int 3", "line 2: the tag !!int"),
        ("train:\n  epochs: 2026-11-30", "train: epochs is '2026-11-30', expected int"),
        ("train: &all\n  epochs: 3\ndqn: *all", "line 1: the anchor all"),
        ("train:\n  <<: {epochs: 3}", "unknown key train.<<"),
        ("train:\n  epochs: =", "train: epochs is '=', expected int"),
        ("train:\n  epochs: 3\n  seed: 1\n  epochs: 4", "line 4: 'epochs' is there twice"),
        ("train: {epochs: 3}\ndqn: {}\ntrain: {epochs: 4}", "line 3: 'train' is there twice"),
        ("train: {[1]: 3}", "line 1: found unhashable key"),
        ("train: {epochs: " + "9" * 5000 + "}", "not YAML: Exceeds the limit"),
        ("train: {epochs: " + "[" * 3000 + "]" * 3000 + "}", "line 1: is nested more than 20 deep"),
        ("", "expected sections such as train, got nothing"),
        ("# all as it was\n", "expected sections such as train, got nothing"),
        ("null", "expected sections such as train, got nothing"),
        ("[]", "expected sections such as train, got a list"),
    ],
)
def test_bad_settings_are_refused_with_file_and_key(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"params\.yaml") as caught:
        load_params(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ValueError, match="epochs") as caught:
        change(Params(), {"train": {"epochs": 0, "seed": -1}, "model": {"dropout": 2}})
    assert all(word in str(caught.value) for word in ("epochs", "seed", "dropout"))


def test_changes_on_the_command_line_are_read_as_yaml() -> None:
    texts = ["train.epochs=3", "train.learning_rate=1e-3", "train.batch_size=auto", "train.checkpointing=false"]
    merged = merge([parse_change(text) for text in texts])
    assert merged == {"train": {"epochs": 3, "learning_rate": 1e-3, "batch_size": "auto", "checkpointing": False}}
    with pytest.raises(ValueError, match=r"expected section\.key=value"):
        parse_change("epochs=3")


def test_a_setting_given_two_values_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^--set train\.seed is given as 3 and as 4: keep one$"):
        merge([parse_change(text) for text in ("train.seed=3", "train.epochs=2", "train.seed=4")])
    assert merge([parse_change("train.seed=3"), parse_change("train.seed=3")]) == {"train": {"seed": 3}}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("!!timestamp x", "line 1: the tag !!timestamp is no plain value"),
        ("!!python/object:x 1", "the tag !!python/object:x"),
        ("{a: 1, a: 2}", "'a' is there twice"),
        ("[&a [], *a]", "the anchor a"),
        ("[1", "line 1: not YAML"),
        ("\x00", "not YAML: unacceptable character"),
        ("[" * 3000, "nested more than 20 deep"),
    ],
)
def test_a_value_that_is_not_plain_is_refused_where_it_was_given(value: str, words: str) -> None:
    with pytest.raises(ValueError, match="--set train") as caught:
        parse_change(f"train.epochs={value}")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_network_follows_the_settings() -> None:
    config = model_config(
        change(Params(), {"preprocess": {"pivot_levels": 2, "seq_len": 50}, "model": {"dropout": 0.0}})
    )
    assert (config.pivot_levels, config.seq_len, config.dropout) == ((1, 2), 50, 0.0)
