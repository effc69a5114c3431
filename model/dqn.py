"""The action-value network: what each action is worth, in percent of the equity that an episode starts with.

B batch, T streams, S candles, W newest candles it looks at, H hidden width.
"""

import torch
from torch import Tensor, nn

from model.dqn_presets import DqnConfig
from model.encoders import dense

POSITION = 4  # in position, direction, unrealised return, bars held: the market it learns in has no stops


class Dqn(nn.Module):
    """The newest candles, book, indicators and market in; with the position, one value an action out."""

    def __init__(self, config: DqnConfig) -> None:
        super().__init__()
        self.config = config
        seen = config.streams * config.window_bars * 5
        features = seen + config.cob_features + config.tech_features + config.market_features
        self.market = dense(features, config.hidden, config.hidden, between=nn.ReLU)
        self.position = nn.Linear(POSITION, config.hidden)
        self.value = dense(config.hidden, config.hidden, 3, between=nn.ReLU)

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """`q_values` (B,3) for sample fields by name; of longer windows the newest candles and book count.

        Raises ValueError if the sample fields do not fit the config.
        """
        prices, position = batch["price_data"], batch["position_state"]
        streams, bars = self.config.streams, self.config.window_bars
        if prices.shape[1] != streams or prices.shape[2] < bars:
            found = f"{prices.shape[1]} streams of {prices.shape[2]} candles"
            raise ValueError(f"price_data has {found}, expected {streams} of at least {bars}")
        newest = prices[:, :, -bars:].flatten(1)
        market = torch.cat([newest, batch["cob_data"][:, -1], batch["tech_data"], batch["market_data"]], dim=1)
        hidden = self.market(market) + self.position(position[:, :POSITION])  # (B,H)
        return {"q_values": self.value(hidden.relu())}
