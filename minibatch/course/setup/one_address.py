"""A log filter for `lab`: JupyterLab prints one address at its start, instead of a file and two.

jupyter/jupyter_server_config.json names it; all other log messages pass unchanged.
"""

import logging
import re


class OneAddress(logging.Filter):
    """Rewrites the message with the addresses; it keeps the first, which works in a browser."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        addresses = re.findall(r"https?://\S+", message)
        if "To access the server" in message and addresses:
            record.msg = f"JupyterLab is open at {addresses[0]}\nCtrl-C here, twice, ends it."
            record.args = ()
        return True
