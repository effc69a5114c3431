"""The networks, how they are trained, and what is measured of them."""
