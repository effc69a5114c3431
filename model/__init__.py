"""The networks, how they are trained, and what is measured of them."""

import os

# Read when torch is loaded, so it has to stand here. Idle threads that spin make a step three times as slow as soon as
# another program wants a core; sleeping ones cost nothing measurable on a quiet machine. The bits are the same.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
