"""Batches: whole epochs in a seeded order, a remainder included."""

import pytest
import torch
from makers import tiny_samples

from model.batches import auto_size, epoch_batches, tensors, updates


@pytest.mark.parametrize(
    ("samples", "size"), [(1, 1), (99, 1), (100, 5), (499, 5), (500, 16), (1999, 16), (2000, 32), (90_000, 32)]
)
def test_auto_chooses_by_the_number_of_samples(samples: int, size: int) -> None:
    assert auto_size(samples) == size


@pytest.mark.parametrize(("samples", "expected"), [(1, 1), (4, 1), (5, 1), (6, 2), (11, 3), (255, 51)])
def test_an_epoch_sees_every_sample_once(samples: int, expected: int) -> None:
    batches = list(epoch_batches(samples, 5, seed=1, epoch=0))
    assert len(batches) == updates(samples, 5) == expected
    assert sorted(torch.cat(batches).tolist()) == list(range(samples))


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="the training split has 0 samples, expected at least 1"):
        updates(0, 5)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        torch.manual_seed(seed + epoch + 17)
        torch.rand(5)
        return torch.cat(list(epoch_batches(50, 5, seed, epoch))).tolist()

    assert order(1, 0) == order(1, 0)
    assert len({tuple(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4


def test_an_epoch_goes_on_where_it_stopped() -> None:
    whole, rest = list(epoch_batches(11, 5, 1, 3)), list(epoch_batches(11, 5, 1, 3, start=2))
    assert [rows.tolist() for rows in rest] == [whole[2].tolist()]


def test_a_purged_sample_is_in_no_split() -> None:
    samples = tiny_samples(4, 3, 2)
    samples["split"][0] = -1
    splits = [tensors(samples, name, torch.device("cpu")) for name in ("train", "validation", "test")]
    assert [len(fields["actions"]) for fields in splits] == [3, 3, 2]
