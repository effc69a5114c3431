"""The size table: true counts, beside the documented ones, without allocating anything."""

import math

import pytest
from makers import tiny_model

from model.networks import build
from model.presets import PRESETS, preset
from model.size import size, size_table


def test_base_meets_its_documented_count_within_a_hundredth() -> None:
    counted = size(preset("base"))
    assert counted.documented == 7_932_096
    assert abs(counted.parameters / 7_932_096 - 1) < 0.01


def test_legacy_is_counted_as_listed_not_as_documented() -> None:
    counted = size(preset("legacy"))
    assert math.isclose(counted.parameters, 1_118e6, rel_tol=0.01)
    assert counted.documented == 46_000_000
    qkv = 12 * 6 * 3 * 2 * 1024 * 2048  # layers, scales, q k v, two matrices each: 72 d² a layer
    assert qkv / counted.parameters > 0.8


@pytest.mark.parametrize("name", PRESETS)
def test_rows_add_up_and_every_component_is_there(name: str) -> None:
    rows = size_table(preset(name))
    assert math.isclose(sum(row.share for row in rows), 1.0)
    names = {row.component for row in rows}
    assert {
        "pattern encoder",
        "stream embedding",
        "context: book",
        "cross",
        "layers: attention",
        "heads: pivots",
    } <= names


def test_the_table_counts_the_network_that_is_built() -> None:
    config = tiny_model()
    built = sum(value.numel() for value in build(config).parameters())
    assert sum(row.count for row in size_table(config)) == built == size(config).parameters
    assert size(config).fp32_bytes == 4 * built
