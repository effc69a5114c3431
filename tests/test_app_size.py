"""The Size view says what the networks themselves count."""

import pytest
from checkout import ROOT
from streamlit.testing.v1 import AppTest

from model import kinds
from model.presets import PRESETS, preset
from model.size import size


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_is_counted_beside_what_is_documented(name: str) -> None:
    page = AppTest.from_file(ROOT / "app" / "views" / "size.py", default_timeout=60)
    page.query_params["preset"] = name
    page.run()
    assert not page.exception
    counted = size(preset(name))
    assert page.subheader[0].value.startswith(f"{counted.parameters:,} parameters counted, {counted.documented:,} ")
    components, presets = (frame.value for frame in page.dataframe)
    assert sum(int(text.replace(",", "")) for text in components["Parameters"]) == counted.parameters
    assert presets["Preset"].tolist() == ["lite", "base", "wide", "legacy"]


def test_the_riddle_of_legacy_is_its_true_count() -> None:
    page = AppTest.from_file(ROOT / "app" / "views" / "size.py", default_timeout=60).run()
    counted = size(preset("legacy")).parameters
    assert f"{counted:,}" in page.expander[0].markdown[0].value
    assert f"{12 * counted / 2**30:.1f} GiB on disk" in page.expander[0].markdown[0].value


@pytest.mark.parametrize("kind", ["cnn", "dqn"])
def test_the_other_kinds_are_counted_too(kind: str) -> None:
    page = AppTest.from_file(ROOT / "app" / "views" / "size.py", default_timeout=60)
    page.query_params["kind"] = kind
    page.run()
    assert not page.exception
    assert page.subheader[0].value.startswith(f"{size(kinds.preset(kind, 'base')).parameters:,} parameters counted")
    assert not page.expander
