"""Runs a notebook in a kernel. A reply that ZeroMQ did not announce waits for a second, not for
nbclient's whole time limit: the client looks at its sockets each second."""

import asyncio

from nbclient import NotebookClient

from minibatch.course.setup.lab_and_test import can_encrypt


class Client(NotebookClient):
    """nbclient's NotebookClient, which also looks at its sockets each second.

    The file descriptor of a ZeroMQ socket announces a message only once. If this moment is lost,
    the kernel is idle, its reply is there, and the client sleeps until `timeout`.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if can_encrypt():  # a kernel warns of sockets that every user of the computer can read
            self.config.KernelManager.transport_encryption = "auto"

    async def async_execute_cell(self, *args, **kwargs):
        """Execute one cell; arguments and errors are nbclient's."""
        looking = asyncio.ensure_future(self._look())
        try:
            return await super().async_execute_cell(*args, **kwargs)
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(1)
            for channel in (self.kc.shell_channel, self.kc.iopub_channel):
                _ = channel.socket.EVENTS  # pyzmq then serves what waits
