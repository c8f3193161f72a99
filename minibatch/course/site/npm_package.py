"""What the live pages load that is not the course's own: pinned npm tarballs, checked, and kept in
.pyodide/ for builds without a network."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.setup import ROOT

CACHE = ROOT / ".pyodide"
_SECONDS = 120


@dataclass(frozen=True)
class NpmPackage:
    """A version of a package, the digest of its tarball, and the files of it that a page loads."""

    name: str
    version: str
    sha512: str
    files: tuple[str, ...]

    def tarball(self) -> Path | None:
        """The checked tarball, from the cache or by npm; None where neither has it."""
        path = CACHE / f"{self.name}-{self.version}.tgz"
        if not path.exists() and (npm := shutil.which("npm")):
            CACHE.mkdir(exist_ok=True)
            command = [npm, "pack", f"{self.name}@{self.version}", "--pack-destination", str(CACHE)]
            try:
                subprocess.run(command, capture_output=True, timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                return None
        return path if path.exists() and self._is_right(path) else None

    def _is_right(self, path: Path) -> bool:
        digest = hashlib.sha512(path.read_bytes()).digest()
        return base64.b64encode(digest).decode() == self.sha512

    def unpack(self, tarball: Path, folder: Path) -> None:
        """Write the files that a page loads into `folder`."""
        with tarfile.open(tarball) as packed:
            for name in self.files:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.extractfile(f"package/{name}").read())


PYODIDE = NpmPackage(
    "pyodide",
    "314.0.7",
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    (
        "pyodide.mjs",
        "pyodide.asm.mjs",
        "pyodide.asm.wasm",
        "python_stdlib.zip",
        "pyodide-lock.json",
    ),
)
EDITOR = NpmPackage(
    "prism-code-editor",
    "5.4.0",
    "8y4SdQxwHa/lnxIbFf2w8N2D1OwxcskDRw774ov4XEEa1e5alqqrAZk08YXgaxisc1RuJdFbCTI+4tU3Plljqw==",
    (
        "LICENSE",
        "dist/index.js",
        "dist/core-BIWFpCIO.js",
        "dist/core-Dr0o9A-8.js",
        "dist/patterns-DSInPV_c.js",
        "dist/shared-DXMiLwjC.js",
        "dist/shared-oTKIFAwH.js",
        "dist/utils--SPWoSa0.js",
        "dist/utils-CCBdbU1o.js",
        "dist/jsx-shared-BgBgis07.js",
        "dist/language-CXbc22uF.js",
        "dist/commands-jZ0uQlAY.js",
        "dist/extensions/commands/index.js",
        "dist/languages/python.js",
        "dist/prism/languages/python.js",
        "dist/layout.css",
    ),
)
