"""Presets: whole configs that refuse what no network can be built from."""

import re
from dataclasses import replace

import pytest
from makers import tiny_samples

from model.presets import PRESETS, ModelConfig, base, fitted, from_dict, preset, to_dict


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_json(name: str) -> None:
    assert from_dict(to_dict(preset(name))) == preset(name)
    assert preset(name).preset == name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"d_model": 20, "heads": 8}, "d_model is 20, expected a multiple of 2 x heads = 16"),
        ({"scales": ()}, "scales is (), expected rising numbers"),
        ({"scales": (3, 1)}, "scales is (3, 1), expected rising numbers"),
        ({"pivot_levels": (1, 1)}, "pivot_levels is (1, 1), expected rising numbers"),
        ({"kind": "oracle"}, "kind is 'oracle', expected one of transformer"),
        ({"dropout": float("nan")}, "dropout is nan, expected a finite number"),
        ({"layers": 0}, "layers is 0, expected 1 to 48"),
    ],
)
def test_an_impossible_network_is_refused_in_a_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        replace(base(), **changes)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"layers is 0.*; dropout is 2.0"):
        ModelConfig(layers=0, dropout=2.0)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="model preset is 'huge', expected one of base, wide, lite, legacy"):
        preset("huge")
    with pytest.raises(ValueError, match="unknown field 'wings'"):
        from_dict({**to_dict(base()), "wings": 2})


def test_a_config_takes_its_sizes_from_the_samples() -> None:
    config = fitted(base(), tiny_samples(2))
    sizes = (config.streams, config.seq_len, config.cob_features, config.tech_features, config.market_features)
    assert sizes == (2, 20, 6, 4, 3)
    assert config.pivot_levels == (1, 2, 3)
