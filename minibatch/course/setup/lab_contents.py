"""How `lab` reads a lesson: as JupyterLab would write it. So it looks saved until it is changed.

jupyter/jupyter_server_config.json names the class. The files themselves stay as they are.
"""

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

AS_COMMITTED = {"name": "python"}  # a lesson's language_info


class LabContents(AsyncLargeFileManager):
    """JupyterLab's own manager of files, with two changes in a notebook that it reads."""

    async def get(self, path: str, *arguments: object, **options: object) -> dict:
        """A file's model. A lesson's language_info is that of this Python's kernel: the kernel will
        write it there in any case, and JupyterLab would call that an unsaved change."""
        model = await super().get(path, *arguments, **options)
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("language_info") == AS_COMMITTED:
                metadata["language_info"] = dict(IPythonKernel.language_info)
        return model

    def mark_trusted_cells(self, nb: dict, path: str = "") -> None:
        """Mark the cells. A notebook without outputs has nothing that could run unasked; any other
        one is trusted if this computer has signed it, and otherwise a warning is logged."""
        if any(cell.get("outputs") for cell in nb["cells"]):
            super().mark_trusted_cells(nb, path)
        else:
            self.notary.mark_cells(nb, True)
