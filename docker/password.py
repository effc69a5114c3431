"""Gives MLflow's admin the password of this start: the server itself sets it once, when its database is new.

So a changed `.env`, or a backup restored beside another one, needs a restart and nothing else.
"""

import os

import psycopg
from werkzeug.security import check_password_hash, generate_password_hash

HELD = "SELECT password_hash FROM users WHERE username = 'admin'"
CHANGE = "UPDATE users SET password_hash = %s WHERE username = 'admin'"


def main() -> None:
    address = os.environ["MLFLOW_AUTH_STORE_URI"].replace("+psycopg", "", 1)
    password = os.environ["MLFLOW_PASSWORD"]
    with psycopg.connect(address, connect_timeout=5) as connection:
        if connection.execute("SELECT to_regclass('users')").fetchone() == (None,):
            return
        row = connection.execute(HELD).fetchone()
        if row and not check_password_hash(row[0], password):
            connection.execute(CHANGE, (generate_password_hash(password),))
            print("the password of MLflow's admin was changed to the one in .env")


if __name__ == "__main__":
    main()
