"""A folder of wheels to install from where there is no network: whether it has what the locks name.

Run as a program by a Python that has pip, for pip knows which wheels this Python can use:

    python wheelhouse.py DIR TORCH LOCK ...

prints what is missing or does not fit, and why; 0 if nothing is. TORCH may be empty.
"""

import sys
from pathlib import Path


def problems(folder: Path, wanted: dict[str, str]) -> list[str]:
    """Of each package that `folder` cannot give to this Python, what is wrong. wanted: versions."""
    from pip._vendor.packaging.tags import sys_tags

    ours = set(sys_tags())
    found = []
    for name, version in sorted(wanted.items()):
        wheels = _wheels_of(name, folder)
        fits = {str(v) for v, tags in wheels.values() if tags & ours}
        if version in fits:
            continue
        if not wheels:
            found.append(f"{name}=={version}: there is no wheel of it")
        elif fits:
            found.append(f"{name}=={version}: there is {', '.join(sorted(fits))}")
        else:
            found.append(f"{name}=={version}: {', '.join(wheels)} is not for {_ours()}")
    return found


def wanted_here(locks: list[Path]) -> dict[str, str]:
    """What the locks name for this computer: package and version."""
    from pip._vendor.packaging.requirements import Requirement

    wanted = {}
    for lock in locks:
        for line in lock.read_text(encoding="utf-8").splitlines():
            if line and line[0] not in "# ":
                requirement = Requirement(line.rstrip(" \\"))
                if requirement.marker is None or requirement.marker.evaluate():
                    wanted[requirement.name] = next(iter(requirement.specifier)).version
    return wanted


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


def _ours() -> str:
    import platform
    import sysconfig

    return f"Python {platform.python_version()} on {sysconfig.get_platform()}"


if __name__ == "__main__":
    folder, torch, *locks = sys.argv[1:]
    wanted = wanted_here([Path(lock) for lock in locks])
    if torch:
        wanted["torch"] = torch.partition("==")[2]
    found = problems(Path(folder), wanted)
    print(*(f"  {problem}" for problem in found), sep="\n" if found else "")
    sys.exit(bool(found))
