"""Reruns of a page without a browser: what a browser asks over its socket, as fast as the server answers."""

from collections.abc import Iterator

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol


def reruns(address: str, view: str, query: str, times: int) -> Iterator[int]:
    """One session that has the whole view drawn so many times; yields the bytes that each drawing was sent as."""
    socket = f"{address.replace('http', 'ws', 1)}_stcore/stream"
    with connect(socket, subprotocols=[Subprotocol("streamlit")], max_size=None) as session:
        for _ in range(times):
            asked = BackMsg()
            asked.rerun_script.query_string = query
            asked.rerun_script.page_name = view
            session.send(asked.SerializeToString())
            sent = 0
            while True:
                found = session.recv()
                assert isinstance(found, bytes)
                sent += len(found)
                if ended(found):
                    break
            yield sent


def ended(message: bytes) -> bool:
    """Whether a message says that a drawing is done; raises AssertionError for one that broke."""
    found = ForwardMsg()
    found.ParseFromString(message)
    if found.WhichOneof("type") != "script_finished":
        return False
    assert found.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY, found.script_finished
    return True
