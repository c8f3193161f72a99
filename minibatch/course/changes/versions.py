"""A version of the course as files: of a commit, a ZIP, or a folder."""

import io
import os
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from minibatch.course.exercises import source
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git_bytes

Files = dict[str, bytes]
"""Each file's content, by its path relative to the course's folder."""

_NOT_THE_COURSE = {".git", ".venv", "backups", "__pycache__", ".ipynb_checkpoints", "grades"}


def committed(root: Path, commit: str) -> Files:
    """The files of a commit."""
    archive = git_bytes(root, "-c", "core.autocrlf=false", "archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}


def read_version(path: Path) -> Files:
    """The course in a ZIP or a folder. Raises SetupError if there is none."""
    try:
        files = _unpacked(path) if path.is_file() else _in_folder(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise SetupError(f"{path} cannot be read: {error}") from None
    tops = [name.removesuffix("requirements.txt") for name in files if _is_top(name, files)]
    if not tops:
        raise SetupError(f"{path} does not hold the course: no requirements.txt beside minibatch/.")
    top = min(tops, key=len)
    return {name.removeprefix(top): text for name, text in files.items() if name.startswith(top)}


def stubs(root: Path) -> Files:
    """The exercises as a ZIP download had them at first: the stubs, made from its solutions/."""
    stubs = {}
    for stem in source.stems(root / "solutions"):
        text = (root / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        stubs[f"exercises/{stem}.py"] = source.stub(text).encode()
    return stubs


def _unpacked(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names if _is_plain(name)}


def _is_plain(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return ".." not in parts and not name.startswith("/") and "\\" not in name and ":" not in name


def _in_folder(folder: Path) -> Files:
    files = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_THE_COURSE]
        for file in (Path(place, name) for name in names):
            files[file.relative_to(folder).as_posix()] = file.read_bytes()
    return files


def _is_top(name: str, files: Files) -> bool:
    top = name.removesuffix("requirements.txt")
    return name.endswith("requirements.txt") and f"{top}minibatch/__main__.py" in files
