"""A server that takes every connection and never answers: what a paused MLflow looks like."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hanging() -> Iterator[str]:
    """Its address; connections are kept open until the end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=take, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()
