"""How the page writes numbers, times and foreign text."""

import pytest

from app import format


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (format.size(0), "0 B"),
        (format.size(1023), "1,023 B"),
        (format.size(95_205_785), "90.8 MiB"),
        (format.size(214 * 2**20), "214 MiB"),
        (format.size(99.97 * 2**20), "100 MiB"),
        (format.size(13_471_301_100), "12.5 GiB"),
        (format.count(7_932_096), "7,932,096"),
        (format.percent(0.8125), "81.2 %"),
        (format.percent(None), "—"),
        (format.duration(0.42), "0.4 s"),
        (format.duration(12.4), "12 s"),
        (format.duration(31 * 60), "31 min"),
        (format.duration(3900), "1 h 05 min"),
        (format.duration(3599), "1 h 00 min"),
        (format.when("2026-11-28T15:10:00+01:00"), "28 Nov 2026, 14:10 UTC"),
        (format.when(None), "—"),
        (format.took("2026-11-28T14:00:00+00:00", "2026-11-28T14:00:12+00:00"), "12 s"),
        (format.apart(100, 100), "equal"),
        (format.apart(1004, 1000), "0.4 % more"),
        (format.apart(3_700, 5_000), "26.0 % fewer"),
        (format.apart(1_122, 46), "24.4 times as many"),
        (format.several(1, "other run"), "1 other run"),
        (format.several(2, "other run"), "2 other runs"),
        (format.label("batch_size"), "Batch size"),
        (format.label("horizon_bars", "bars"), "Horizon bars"),
        (format.label("seq_len", "bars"), "Sequence length (bars)"),
    ],
)
def test_numbers_and_times_are_written_in_one_way(written: str, expected: str) -> None:
    assert written == expected


@pytest.mark.parametrize("mark", list(r"\`*_{}[]()#+-.!|<>~$:&"))
def test_every_mark_of_markdown_in_foreign_text_is_escaped(mark: str) -> None:
    assert format.plain(f"a{mark}b") == f"a\\{mark}b"


@pytest.mark.parametrize(
    ("sign", "parts"),
    [
        (":material/home:", (":", "material/home:")),
        (":+1:", (":", "+1:")),
        ("http://a", ("http:", "//a")),
        ("www.a", ("www", ".a")),
        ("a@b", ("a@", "b")),
        ("->", ("-", ">")),
        ("<=", ("<", "=")),
        ("~=", ("~", "=")),
    ],
)
def test_what_streamlit_would_make_a_sign_or_a_link_of_is_parted(sign: str, parts: tuple[str, str]) -> None:
    assert format.plain(sign) == format.JOINER.join(map(format.plain, parts))


def test_foreign_text_stays_on_one_line() -> None:
    assert format.plain("a\n\n# b\t\x00c") == "a  \\# b  c"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Resume with `pivotline resume 2-a`.", "Resume with `pivotline resume 2-a`\\."),
        ("`make data` fetches it", "`make data` fetches it"),
        ("run `*x*` was lost", "run \\`\\*x\\*\\` was lost"),
        ("an odd ` and `pivotline", "an odd \\` and \\`pivotline"),
        ("`pivotline a\nb`", "\\`pivotline a b\\`"),
    ],
)
def test_a_command_in_a_sentence_is_code_and_all_else_is_plain(said: str, expected: str) -> None:
    assert format.spoken(said) == expected
