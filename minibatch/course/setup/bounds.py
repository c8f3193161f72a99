"""Compares installed versions with the bounds in pyproject.toml.

This runs before anything is installed, so it does not use `packaging`. It reads metadata, so it
does not import torch to find its version. It supports the part of PEP 440 and PEP 508 that
pyproject.toml uses, and raises ValueError for the rest; tests/course/setup/test_setup.py compares
it with `packaging`.
"""

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Self

_VERSION = re.compile(
    r"(?P<release>\d+(\.\d+)*)"
    r"((?P<phase>a|b|rc)(?P<pre>\d+))?"
    r"(\.post(?P<post>\d+))?"
    r"(\.dev(?P<dev>\d+))?"
    r"(\+[a-z0-9.]+)?"  # a local label such as +cpu: the same version, built differently
)
_BOUND = re.compile(r"(~=|==|!=|>=|<=|<)\s*(.+)")
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(\[(?P<extras>[^]]*)\])?\s*"
    r"\(?(?P<bounds>[^;()]*)\)?\s*(;\s*(?P<marker>.+))?"
)
_PLATFORM = re.compile(r"sys_platform\s*(==|!=)\s*['\"](\w+)['\"]")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version that compares as PEP 440 says: 2.0.dev1 < 2.0rc1 < 2.0 = 2.0.0 < 2.0.post1."""

    release: tuple[int, ...]  # without trailing zeros
    pre: tuple[int, int]  # (phase, number); a final release comes after every phase
    post: int
    dev: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2.13.0+cpu". Raises ValueError for an epoch or a spelling that is not PEP 440's."""
        found = _VERSION.fullmatch(text.strip().lower())
        if found is None:
            raise ValueError(f'cannot read the version "{text}"')
        phase, post, dev = found["phase"], found["post"], found["dev"]
        if phase:
            pre = (("a", "b", "rc").index(phase), int(found["pre"]))
        else:
            only_dev = dev is not None and post is None
            pre = (-1, 0) if only_dev else (3, 0)
        release = tuple(int(part) for part in found["release"].split("."))
        while len(release) > 1 and release[-1] == 0:
            release = release[:-1]
        return cls(
            release,
            pre,
            -1 if post is None else int(post),
            float("inf") if dev is None else int(dev),
        )

    @property
    def is_prerelease(self) -> bool:
        """Whether it comes before the release it names."""
        return self.pre < (3, 0) or self.dev != float("inf")


def satisfies(version: str, bounds: str) -> bool:
    """Whether `version` lies within comma-separated `bounds`, as "2.13.0+cpu" in ">=2.11,<2.14".

    Raises ValueError for an operator other than ~= == != >= <= <, and for a wildcard.
    """
    return all(
        _within(Version.parse(version), bound) for bound in bounds.split(",") if bound.strip()
    )


def _within(version: Version, bound: str) -> bool:
    found = _BOUND.fullmatch(bound.strip())
    if found is None:
        raise ValueError(f'cannot read the bound "{bound}"')
    operator, text = found.groups()
    limit = Version.parse(text)
    match operator:
        case "==":
            return version == limit
        case "!=":
            return version != limit
        case ">=":
            return version >= limit
        case "<=":
            return version <= limit
        case "<":  # "<2.14" also excludes 2.14rc1, although its number is lower than 2.14
            early = version.is_prerelease and version.release == limit.release
            return version < limit and not (early and not limit.is_prerelease)
        case _:  # "~=3.0.17" is ">=3.0.17" with the same first two numbers
            fixed = text.strip().split(".")[:-1]
            padded = version.release + (0,) * len(fixed)
            return version >= limit and padded[: len(fixed)] == tuple(int(part) for part in fixed)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of pyproject.toml's dependencies: a name, its bounds, and where it applies."""

    name: str
    bounds: str
    marker: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "numba-cuda[cu13]>=0.30,<0.31; sys_platform != 'darwin'"."""
        found = _REQUIREMENT.fullmatch(text.strip())
        if found is None:
            raise ValueError(f'cannot read the requirement "{text}"')
        return cls(found["name"], found["bounds"].strip(), (found["marker"] or "").strip())

    @property
    def applies(self) -> bool:
        """Whether this machine needs it. Raises ValueError for a marker that we do not use."""
        if not self.marker:
            return True
        found = _PLATFORM.fullmatch(self.marker)
        if found is None:
            raise ValueError(f'cannot judge the marker "{self.marker}" of {self.name}')
        operator, platform = found.groups()
        return (sys.platform == platform) == (operator == "==")

    @property
    def installed(self) -> str | None:
        """The version in this environment, or None."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def is_met(self) -> bool:
        """Whether this environment has a version within the bounds; False for an unreadable one."""
        try:
            return self.installed is not None and satisfies(self.installed, self.bounds)
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{self.name} {self.bounds}".strip()


def project_requirements(root: Path, extras: tuple[str, ...] = ()) -> list[Requirement]:
    """The requirements in pyproject.toml for this machine, with the named extras."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = list(project["dependencies"])
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return [requirement for text in texts if (requirement := Requirement.parse(text)).applies]


def unmet(root: Path, extras: tuple[str, ...] = ()) -> list[Requirement]:
    """The `project_requirements` that this environment does not meet."""
    return [wanted for wanted in project_requirements(root, extras) if not wanted.is_met]
