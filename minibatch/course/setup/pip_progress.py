"""What pip is doing, from its log and from the packages that are already in the environment.

pip prints nothing between the list of packages and the end of the install, which takes a minute.
"""

import re
from pathlib import Path

_LIST = "Installing collected packages: "
_DOWNLOAD = re.compile(r"^\s*Downloading (\S+ \([^)]*\))", re.M)

_FOUND = re.compile(r"^(?:Collecting|Processing|Requirement already satisfied)", re.M)
_IGNORED = re.compile(r"^Ignoring .*markers", re.M)


def described(log: str, venv: Path, num_pins: int = 0) -> str:
    """What the last command in `log` does now. venv: the environment's folder; num_pins: packages
    that the command names, some of them for other systems."""
    said = log.rpartition("\n$ ")[2]
    _, found, after = said.rpartition(_LIST)
    if found:
        names = [_plain(name) for name in after.partition("\n")[0].split(", ")]
        there = _installed(venv)
        left = [name for name in names if name not in there]
        now = f"; now {left[0]}" if left else ""
        return f"{len(names) - len(left)} of {len(names)} packages are installed{now}"
    here, total = len(_FOUND.findall(said)), num_pins - len(_IGNORED.findall(said))
    at = f"package {here} of {total}, " if 0 < here <= total else ""
    downloads = _DOWNLOAD.findall(said)
    return f"{at}downloading {downloads[-1]}" if downloads else "looking for the packages"


def _installed(venv: Path) -> set[str]:
    """The packages whose files are all there: pip writes RECORD last."""
    places = ("lib/python*/site-packages", "Lib/site-packages")
    records = [path for place in places for path in venv.glob(f"{place}/*.dist-info/RECORD")]
    return {_plain(path.parent.name.partition("-")[0]) for path in records}


def _plain(name: str) -> str:
    """The name as pip compares it: Foo.bar_baz is foo-bar-baz."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
