"""A log filter for `lab`: JupyterLab prints one address at its start, instead of a file and two.

It leaves out one message: Jupyter's server counts pings in milliseconds, tornado in seconds, and
tornado warns of a limit that neither of them then uses. All other messages pass unchanged.
jupyter/jupyter_server_config.json names the filter.
"""

import logging
import re


class OneAddress(logging.Filter):
    """Rewrites the message with the addresses: the first works in a browser. Drops one of pings."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message.startswith("The websocket_ping_timeout (") and "cannot be longer" in message:
            return False
        addresses = re.findall(r"https?://\S+", message)
        if "To access the server" in message and addresses:
            record.msg = f"JupyterLab is open at {addresses[0]}\nCtrl-C here, twice, ends it."
            record.args = ()
        return True
