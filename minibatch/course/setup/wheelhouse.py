"""A folder of wheels, to install without a network: fills it, and checks that it is complete.

`python -m minibatch wheels DIR --for windows --python 3.12` fills it, on any computer with a
network. `setup --wheels DIR` checks it: it runs this file with a Python that has pip, because pip
knows which wheels this Python can use:

    python wheelhouse.py DIR TORCH LOCK ...     0 if nothing is missing; TORCH may be empty
"""

import argparse
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

SYSTEMS = {  # values of markers, and the tags of wheels that fit
    "linux": (
        {"sys_platform": "linux", "os_name": "posix", "platform_machine": "x86_64"},
        ["manylinux2014_x86_64", *(f"manylinux_2_{n}_x86_64" for n in range(5, 29))],
    ),
    "windows": (
        {"sys_platform": "win32", "os_name": "nt", "platform_machine": "AMD64"},
        ["win_amd64"],
    ),
    "macos": (
        {"sys_platform": "darwin", "os_name": "posix", "platform_machine": "arm64"},
        ["macosx_14_0_arm64"],
    ),
}


def main(arguments: list[str]) -> int:
    """`wheels DIR [--for SYSTEM] [--python VERSION] [--cuda]`; pip's exit status."""
    from minibatch.course.setup import LOCKS, ROOT
    from minibatch.course.setup.environment import torch_of_its_own_index
    from minibatch.course.setup.findings import SetupError
    from minibatch.course.setup.virtual_environment import Parts

    here = {"linux": "linux", "win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    parser = argparse.ArgumentParser(
        prog="python -m minibatch wheels",
        description="Fill a folder with all that an install needs, for any Python and system; "
        "then `setup --wheels DIR` needs no network.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--for", dest="system", choices=SYSTEMS, default=here, help="default: this")
    parser.add_argument(
        "--python",
        metavar="VERSION",
        default=platform.python_version(),
        help='Python version of the computer to install on, such as "3.12" or "3.12.4"; '
        "default: that of this one",
    )
    parser.add_argument("--cuda", action="store_true", help="PyTorch for NVIDIA's GPUs")
    parser.add_argument("--ray", action="store_true", help="also Ray")
    options = parser.parse_args(arguments)
    if find_spec("pip") is None:
        raise SetupError(f"{sys.executable} has no pip. Use another Python, such as that of .venv.")
    markers, platforms = SYSTEMS[options.system]
    parts = Parts("cuda" if options.cuda else "cpu", ray=options.ray)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    pip += ["--dest", str(options.folder), "--python-version", options.python]
    pip += [part for name in platforms for part in ("--platform", name)]
    with tempfile.TemporaryDirectory() as folder:
        # pip would evaluate the markers for the computer it runs on.
        flat = Path(folder, "requirements.txt")
        locks = [ROOT / LOCKS / name for name in parts.locks]
        flat.write_text("\n".join(_lines(locks, _environment(markers, options.python))))
        status = subprocess.run([*pip, "--require-hashes", "-r", str(flat)]).returncode
    torch, index = torch_of_its_own_index(parts, markers["sys_platform"])
    if status == 0 and torch:
        status = subprocess.run([*pip, "--extra-index-url", index, torch]).returncode
    return status


def problems(folder: Path, wanted: dict[str, str]) -> list[str]:
    """A line for each package that `folder` does not have for this Python. wanted: {package:
    version}."""
    from pip._vendor.packaging.tags import sys_tags

    ours = set(sys_tags())
    found = []
    for name, version in sorted(wanted.items()):
        wheels = _wheels_of(name, folder)
        fits = {str(v) for v, tags in wheels.values() if tags & ours}
        if version in fits:
            continue
        if not wheels:
            found.append(f"{name}=={version}: the folder has no wheel of this package")
        elif fits:
            found.append(f"{name}=={version}: the folder has only {', '.join(sorted(fits))}")
        else:
            here = f"Python {platform.python_version()} on {sysconfig.get_platform()}"
            found.append(f"{name}=={version}: {', '.join(wheels)} does not fit {here}")
    return found


def wanted_here(locks: list[Path]) -> dict[str, str]:
    """{package: version} of the locks, for this computer."""
    return dict(line.split()[0].split("==") for line in _lines(locks, None))


def _lines(locks: list[Path], environment: dict[str, str] | None) -> list[str]:
    """The locks' requirements that apply in an environment (None: this one), without markers."""
    from pip._vendor.packaging.requirements import Requirement

    lines = []
    for lock in locks:
        for block in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8")):
            if not block.startswith("#"):
                first, *hashes = block.split(" \\\n")
                requirement = Requirement(first)
                if requirement.marker is None or requirement.marker.evaluate(environment):
                    lines.append(" ".join([f"{requirement.name}{requirement.specifier}", *hashes]))
    return lines


def _environment(markers: dict[str, str], python: str) -> dict[str, str]:
    """The values of markers on another computer; "3.12" means a late 3.12."""
    whole = python if python.count(".") > 1 else f"{python}.99"
    short = ".".join(whole.split(".")[:2])
    return {**markers, "python_full_version": whole, "python_version": short}


def _wheels_of(name: str, folder: Path) -> dict[str, tuple]:
    from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

    found = {}
    for wheel in sorted(folder.glob("*.whl")):
        try:
            package, version, _, tags = parse_wheel_filename(wheel.name)
        except ValueError:
            continue
        if package == canonicalize_name(name):
            found[wheel.name] = (version, tags)
    return found


if __name__ == "__main__":
    folder, torch, *locks = sys.argv[1:]
    wanted = wanted_here([Path(lock) for lock in locks])
    if torch:
        wanted["torch"] = torch.partition("==")[2]
    found = problems(Path(folder), wanted)
    for problem in found:
        print(f"  {problem}")
    sys.exit(bool(found))
