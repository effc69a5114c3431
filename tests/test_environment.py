"""The market a policy acts in: equity and fees by hand, how an episode ends, and Gymnasium's own checks."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from model.environment import BUY, HOLD, SELL, Trading


def market(*prices: list[float], whole: bool = True) -> dict[str, np.ndarray]:
    """Episodes of these prices; what is seen besides is one number a step."""
    count = sum(map(len, prices))
    seen = np.arange(count, dtype=np.float32) / 100
    return {
        "price": np.concatenate([np.array(part) for part in prices]),
        "price_data": seen.reshape(-1, 1, 1, 1) * np.ones((1, 1, 2, 5), np.float32),
        "cob_data": seen.reshape(-1, 1, 1) * np.ones((1, 1, 3), np.float32),
        "tech_data": seen[:, None],
        "market_data": seen[:, None],
        "length": np.array([len(part) for part in prices]),
        "whole": np.array([whole] * len(prices)),
        "split": np.zeros(len(prices), np.int8),
        "position_deviation": np.array([1.0, 1.0, 0.5, 2.0, 1.0]),
    }


def played(env: Trading, *actions: int) -> list[float]:
    env.reset(options={"episode": env.numbers[0]})
    return [env.step(action)[1] for action in actions]


@pytest.mark.parametrize(
    ("actions", "equities"),
    [
        ((HOLD, HOLD, HOLD), (1, 1, 1)),
        # 1 x 0.999 after the fee, 101 / 100 of it, then 99 / 100 of it sold for 0.1 % of what it is worth
        ((BUY, HOLD, SELL), (0.999 * 1.01, 0.999 * 0.99, 0.999 * 0.99 * 0.999)),
        ((BUY, BUY, HOLD), (0.999 * 1.01, 0.999 * 0.99, 0.999 * 1.10 * 0.999)),  # closed where the candles end
        ((SELL, HOLD, BUY), (0.999 * 0.99, 0.999 * 1.01, 0.999 * (1.01 - 0.99 * 0.001))),
        ((SELL, BUY, BUY), (0.999 * 0.99, 0.999 * (0.99 - 1.01 * 0.001), None)),
    ],
)
def test_equity_by_hand(actions: tuple[int, ...], equities: tuple[float | None, ...]) -> None:
    env = Trading(market([100.0, 101.0, 99.0, 110.0]), [0], fee_bps=10)
    rewards = played(env, *actions)
    for total, equity in zip(np.cumsum(rewards), equities, strict=True):
        if equity is not None:
            assert total == pytest.approx(100 * (equity - 1))


def test_the_end_of_the_candles_terminates_and_a_cut_truncates() -> None:
    for whole in (True, False):
        env = Trading(market([100.0, 101.0, 99.0], whole=whole), [0], fee_bps=10)
        env.reset()
        assert env.step(BUY)[2:4] == (False, False)
        assert env.step(HOLD)[2:4] == (whole, not whole)
        assert env.direction == (0 if whole else 1)  # a cut leaves the position open: the market goes on


def test_a_short_that_loses_everything_terminates() -> None:
    env = Trading(market([100.0, 250.0, 90.0, 90.0], whole=False), [0], fee_bps=0)
    env.reset()
    _, reward, terminated, truncated, _ = env.step(SELL)
    assert (terminated, truncated) == (True, False)
    assert reward == pytest.approx(-150)


def test_the_position_is_told_as_samples_tell_it_and_scaled() -> None:
    env = Trading(market([100.0, 101.0, 99.0]), [0], fee_bps=10)
    seen, _ = env.reset()
    assert not seen["position_state"].any()
    seen = env.step(SELL)[0]
    expected = [1, -1, -np.log(1.01) / 0.5, np.log1p(1) / 2, 0]
    assert np.allclose(seen["position_state"], expected)


def test_each_step_sees_its_own_candle_of_its_own_episode() -> None:
    env = Trading(market([1.0, 2.0], [3.0, 4.0, 5.0]), [1], fee_bps=0)
    seen, _ = env.reset()
    assert (env.price, float(seen["tech_data"][0])) == (3.0, pytest.approx(0.02))
    assert float(env.step(HOLD)[0]["tech_data"][0]) == pytest.approx(0.03)


def test_an_episode_goes_on_where_another_environment_stood() -> None:
    first, second = (Trading(market([100.0, 101.0, 99.0, 98.0]), [0], fee_bps=10) for _ in range(2))
    first.reset()
    first.step(SELL)
    second.restore(first.state())
    assert first.step(BUY)[1:] == second.step(BUY)[1:]


def test_episodes_are_drawn_in_an_order_that_the_seed_decides() -> None:
    env = Trading(market([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), [0, 2], fee_bps=0)

    def drawn(seed: int) -> list[int]:
        env.reset(seed=seed)
        return [env.reset()[1]["episode"] for _ in range(20)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert set(drawn(1)) == {0, 2}


def test_gymnasium_finds_nothing_wrong() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(render|spec|infinity|flatten).*")
        check_env(Trading(market([100.0, 101.0, 99.0]), [0], fee_bps=10), skip_render_check=True)


def test_no_episode_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 0 episodes to act in, expected at least 1"):
        Trading(market([1.0, 2.0]), [], fee_bps=0)
