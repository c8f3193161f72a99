"""locks/ is what requirements.txt gives, whole, hashed, and the same versions everywhere."""

import re
import zipfile
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from minibatch.course import setup
from minibatch.course.classroom.gradescope import export_gradescope
from minibatch.course.setup import ROOT, environment
from minibatch.course.setup.bounds import satisfies

LOCKS = ROOT / setup.LOCKS


def locked(name):
    """Each package of a lock: its requirements (one for each marker) and how many hashes."""
    found = {}
    text = (LOCKS / name).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=\S)", text):
        if not block.startswith("#"):
            requirement = Requirement(block.partition("\\")[0])
            found.setdefault(requirement.name, []).append(
                (requirement, block.count("--hash=sha256:"))
            )
    return found


def pins():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


@pytest.mark.parametrize("name", ["cpu.txt", "cuda.txt", "compiler.txt", "ray.txt"])
def test_every_package_of_a_lock_has_a_version_and_hashes(name):
    for versions in locked(name).values():
        for requirement, hashes in versions:
            assert [part.operator for part in requirement.specifier] == ["=="]
            assert hashes


@pytest.mark.parametrize("name", ["cpu.txt", "cuda.txt"])
def test_a_lock_holds_the_pins_of_requirements(name):
    """If not: .ci/lock makes it anew."""
    for package, version in pins().items():
        assert {str(r.specifier) for r, _ in locked(name)[package]} == {f"=={version}"}


def test_the_pinned_torch_is_what_its_own_index_is_asked_for():
    assert pins()["torch"] == environment.TORCH


def test_the_compilers_lock_lies_within_pyprojects_bounds():
    ((requirement, _),) = locked("compiler.txt")["numba-cuda"]
    version = next(iter(requirement.specifier)).version
    assert satisfies(version, ">=0.30,<0.31")


def test_rays_lock_lies_within_pyprojects_bounds_and_repeats_no_other():
    ((requirement, _),) = locked("ray.txt")["ray"]
    assert satisfies(next(iter(requirement.specifier)).version, ">=2.60,<2.61")
    assert locked("ray.txt").keys().isdisjoint(locked("cpu.txt"))


def test_what_the_locked_packages_need_is_locked():
    """As far as this environment can tell: of what is installed here."""
    names = locked("cpu.txt")
    missing = set()
    for name in names:
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # of another system
        for need in map(Requirement, needs):
            wanted = need.marker is None or need.marker.evaluate({"extra": ""})
            if wanted and need.name.lower().replace("_", "-").replace(".", "-") not in names:
                missing.add(f"{need.name}, of {name}")
    assert missing == set()


def test_the_locks_go_with_what_sets_itself_up_elsewhere(tmp_path):
    export_gradescope(tmp_path / "autograder.zip")
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = set(archive.namelist())
    assert {
        f"minibatch-course/{setup.LOCKS.as_posix()}/{file.name}" for file in LOCKS.iterdir()
    } <= names
