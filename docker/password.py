"""Gives MLflow's admin the password of this start, hashed once instead of 32,768 times.

The server sets a password when its database is new and never again; so a changed `.env`, or a backup restored beside
another one, needs a restart and nothing else. It checks the password at every request: with its own hash that takes
0.1 s of a core, which makes stolen hashes of guessable words useless. Ours is no word but 192 random bits.
"""

import psycopg
from werkzeug.security import check_password_hash, generate_password_hash

METHOD = "pbkdf2:sha256:1"
HELD = "SELECT password_hash FROM users WHERE username = 'admin'"
CHANGE = "UPDATE users SET password_hash = %s WHERE username = 'admin'"


def settle(address: str, password: str) -> None:
    """The admin, who is there since the first start, has this password by the quick hash."""
    with psycopg.connect(address.replace("+psycopg", "", 1), connect_timeout=5, autocommit=True) as connection:
        ((held,),) = connection.execute(HELD).fetchall()
        if not (held.startswith(f"{METHOD}$") and check_password_hash(held, password)):
            connection.execute(CHANGE, (generate_password_hash(password, METHOD),))
