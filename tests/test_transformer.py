"""The transformer: what may enter, what comes out, and what each part can see."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from makers import tiny_model, tiny_samples
from torch import Tensor, nn

from model.attention import attend
from model.batches import tensors
from model.networks import build, recompute
from model.pooling import group_means, token_of_candle
from model.presets import ModelConfig, base, lite, wide

CPU = torch.device("cpu")


def batch(count: int = 3) -> dict[str, Tensor]:
    return tensors(tiny_samples(count), "train", CPU)


def network(**changes: object) -> nn.Module:
    torch.manual_seed(0)
    return build(tiny_model(**changes)).eval()


@pytest.mark.parametrize("make", [base, wide, lite], ids=["base", "wide", "lite"])
def test_every_preset_runs_a_step(make: Callable[[], ModelConfig]) -> None:
    config = replace(make(), seq_len=30)
    torch.manual_seed(0)
    model = build(config)
    sizes = {"price_data": (5, 30, 5), "cob_data": (30, 100), "tech_data": (40,), "market_data": (30,)}
    inputs = {name: torch.randn(2, *shape) for name, shape in (sizes | {"position_state": (5,)}).items()}
    outputs = model(inputs)
    shapes = {name: tuple(value.shape) for name, value in outputs.items()}
    assert shapes == {
        "action_logits": (2, 3),
        "confidence": (2, 1),
        "price": (2, 1),
        "trade_success": (2, 1),
        "next_candles": (2, 5, 5),
        "pivots": (2, 3, 2),
    }
    sum(value.square().mean() for value in outputs.values()).backward()
    assert [name for name, value in model.named_parameters() if value.grad is None] == []


@pytest.mark.parametrize("bars", [1, 4, 19, 150, 600])
def test_any_window_length_works(bars: int) -> None:
    inputs = batch() | {"price_data": torch.randn(3, 2, bars, 5), "cob_data": torch.randn(3, bars, 6)}
    with torch.no_grad():
        outputs = network(scales=(1, 3, 7))(inputs)
    assert all(value.isfinite().all() for value in outputs.values())


def test_a_sample_of_another_shape_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"tech_data has the shape \(9,\) a sample, expected \(4,\)"):
        network()(batch() | {"tech_data": torch.randn(3, 9)})
    with pytest.raises(ValueError, match="601 candles a stream, expected 1 to 600"):
        network()(batch() | {"price_data": torch.randn(3, 2, 601, 5), "cob_data": torch.randn(3, 601, 6)})


@pytest.mark.parametrize("field", ["price_data", "cob_data", "tech_data", "market_data", "position_state"])
def test_every_input_matters(field: str) -> None:
    inputs = batch()
    model = network()
    changed = inputs | {field: inputs[field] + torch.randn_like(inputs[field])}
    assert not torch.equal(model(inputs)["action_logits"], model(changed)["action_logits"])


@pytest.mark.parametrize("bar", [0, 10, 19])
def test_every_candle_of_every_stream_reaches_the_action(bar: int) -> None:
    inputs, model = batch(), network()
    for stream in range(2):
        prices = inputs["price_data"].clone()
        prices[:, stream, bar] += 1
        assert not torch.equal(model(inputs)["action_logits"], model(inputs | {"price_data": prices})["action_logits"])


def test_what_one_stream_knows_reaches_every_other() -> None:
    inputs, model = batch(), network()
    prices = inputs["price_data"].clone()
    prices[:, 1] += 1
    before, after = model(inputs)["next_candles"], model(inputs | {"price_data": prices})["next_candles"]
    assert not torch.allclose(before[:, 0], after[:, 0])


def test_samples_of_a_batch_do_not_touch_each_other() -> None:
    inputs, model = batch(3), network()
    alone = model({name: values[1:2] for name, values in inputs.items()})
    together = model(inputs)
    for name, value in alone.items():
        torch.testing.assert_close(value, together[name][1:2])


def test_an_absent_book_says_nothing() -> None:
    inputs, model = batch(), network()
    absent = inputs | {"cob_data": torch.zeros_like(inputs["cob_data"])}
    with torch.no_grad():
        before = model(absent)["action_logits"]
        for value in model.context.book.parameters():
            value.add_(1.0)
        torch.testing.assert_close(model(absent)["action_logits"], before)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_recomputing_changes_no_loss_and_no_gradient(precision: torch.dtype) -> None:
    def step(wanted: bool) -> tuple[Tensor, list[Tensor], Tensor]:
        torch.manual_seed(0)
        model = build(tiny_model(dropout=0.3)).train()
        recompute(model, wanted)
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            outputs = model(batch())
        loss = torch.stack([value.float().square().mean() for value in outputs.values()]).sum()
        loss.backward()
        return loss.detach(), [value.grad for value in model.parameters()], torch.rand(1)

    (loss, gradients, after), (loss_again, gradients_again, after_again) = step(False), step(True)
    assert torch.equal(loss, loss_again)
    assert all(torch.equal(one, two) for one, two in zip(gradients, gradients_again, strict=True))
    assert torch.equal(after, after_again)


def test_recomputing_keeps_fewer_activations() -> None:
    def kept(wanted: bool) -> int:
        model = build(tiny_model(d_ff=256)).train()
        recompute(model, wanted)
        sizes: list[int] = []

        def pack(value: Tensor) -> Tensor:
            sizes.append(value.numel())
            return value

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
            model(batch())
        return sum(sizes)

    assert kept(True) < kept(False)


def test_groups_are_counted_from_the_newest_candle() -> None:
    means = group_means(5, 2, 9, CPU)
    expected = [[1, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 0.5, 0.5]]
    np.testing.assert_array_equal(means.numpy(), np.array(expected, dtype=np.float32))
    assert group_means(5, 2, 1, CPU).tolist() == [[0, 0, 0, 0.5, 0.5]]
    assert token_of_candle(3, 2, CPU).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_attention_in_bf16_is_what_the_fused_kernel_gives() -> None:
    """On the CPU it is worked out as two products and a softmax; outputs and gradients agree to bf16's 8 bits."""
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(4)
        inputs = [torch.randn(2, size, 16).to(dtype).requires_grad_() for size in (3, 7, 7)]
        mixed = attend(*inputs, heads=2)
        mixed.square().sum().backward()
        assert mixed.dtype == dtype
        found.append([value.float() for value in (mixed, *(entry.grad for entry in inputs)) if value is not None])
    for exact, rough in zip(*found, strict=True):
        assert torch.allclose(rough, exact, atol=0.03 * float(exact.detach().abs().max()))
