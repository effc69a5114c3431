"""Gives MLflow's admin the password of this start, hashed once instead of 32,768 times.

The server sets a password when its database is new and never again; so a changed `.env`, or a backup restored beside
another one, needs a restart and nothing else. It checks the password at every request: with its own hash that takes
0.1 s of a core, which makes stolen hashes of guessable words useless. Ours is no word but 192 random bits.
"""

import os
import time

import psycopg
from werkzeug.security import check_password_hash, generate_password_hash

METHOD = "pbkdf2:sha256:1"
WAIT_S = 120  # a new database has its tables once the server is up
TABLE = "SELECT to_regclass('users') IS NOT NULL"
HELD = "SELECT password_hash FROM users WHERE username = 'admin'"
CHANGE = "UPDATE users SET password_hash = %s WHERE username = 'admin'"


def settle(connection: psycopg.Connection, password: str) -> bool:
    """True once the admin has this password by the quick hash."""
    if connection.execute(TABLE).fetchone() != (True,):
        return False
    row = connection.execute(HELD).fetchone()
    if row is None:
        return False
    if not (row[0].startswith(f"{METHOD}$") and check_password_hash(row[0], password)):
        connection.execute(CHANGE, (generate_password_hash(password, METHOD),))
    return True


def main() -> None:
    address = os.environ["MLFLOW_AUTH_STORE_URI"].replace("+psycopg", "", 1)
    password = os.environ["MLFLOW_PASSWORD"]
    deadline = time.monotonic() + WAIT_S
    with psycopg.connect(address, connect_timeout=5, autocommit=True) as connection:
        while not settle(connection, password) and time.monotonic() < deadline:
            time.sleep(0.5)


if __name__ == "__main__":
    main()
