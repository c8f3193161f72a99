"""A notebook runs to its end, even if ZeroMQ does not announce a reply."""

import time
from unittest import mock

import nbformat
import zmq
from zmq.asyncio import Socket

from minibatch.course.notebooks.run_notebook import Client


def test_a_reply_that_is_not_announced_waits_for_a_second():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("6 * 7")])
    client = Client(notebook, timeout=60, kernel_name="python3")
    handle, lost = Socket._handle_events, []

    def deaf(socket, *args):
        """What the file descriptor announces is used up, and the socket learns nothing."""
        executes = client.kc and client.code_cells_executed
        if args and executes and socket is client.kc.shell_channel.socket:
            lost.append(zmq.Socket.get(socket, zmq.EVENTS))
        else:
            handle(socket, *args)

    with mock.patch.object(Socket, "_handle_events", deaf):
        begin = time.monotonic()
        client.execute()
    assert lost
    assert time.monotonic() - begin < 30
    assert notebook.cells[0].outputs[0].data["text/plain"] == "42"
