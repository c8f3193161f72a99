"""Finds a model's files, in a folder or on the Hugging Face hub; explains why there are none.

Only safetensors are read: a `.bin` is a pickle, and opening a pickle may run code in it. Code in a
model's folder is not run either.
"""

from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import torch
from huggingface_hub import constants, model_info, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    logging,
)
from transformers import PreTrainedTokenizerBase as Tokenizer

from ..wayfarer import JUNIOR, WEIGHTS
from .compatibility import UnsupportedModelError, check_decoder_only

LONGEST_WAIT = 2.5  # seconds for the hub's first answer, unless HF_HUB_ETAG_TIMEOUT is set
OURS = {"wayfarer": WEIGHTS, "wayfarer-junior": JUNIOR}
OWN_MODEL = 'load_model("wayfarer") loads the course\'s own model, offline.'


@dataclass(frozen=True)
class Place:
    """A folder or hub id to read from. is_here: on this machine; the hub is not asked."""

    name: str
    is_here: bool

    def options(self) -> dict[str, bool]:
        """Arguments for every `from_pretrained`."""
        return {"trust_remote_code": False, "local_files_only": self.is_here}


def find(name: str) -> Place:
    """A folder, or else the hub. Raises OSError, with what to do, if there is no model."""
    if name in OURS:
        return Place(str(OURS[name]), is_here=True)
    path = Path(name).expanduser() if name.startswith("~") else Path(name)
    if path.suffix == ".gguf" or (path.is_dir() and _only_gguf(path)):
        raise cannot(name, "GGUF is not supported; give the original model in safetensors")
    if path.is_file():
        raise cannot(name, f"this is a file; give its folder, {str(path.parent)!r}")
    if path.is_dir():
        check_folder(path)
        return Place(str(path), is_here=True)
    if name.startswith((".", "~", "/")) or path.is_absolute() or name.count("/") > 1:
        raise cannot(name, f"there is no folder {path.absolute()}")
    why = why_no_hub(name)
    if why and not isinstance(try_to_load_from_cache(name, "config.json"), str):
        raise cannot(name, f"there is no such folder here, it was not downloaded before, and {why}")
    return Place(name, is_here=bool(why))


def check_folder(path: Path) -> None:
    """Raises OSError, naming what is missing, for a folder that is not a whole model."""
    if not (path / "config.json").is_file():
        raise OSError(f"the folder {path} does not hold a model: config.json is missing")
    if any(path.glob("*.safetensors")):
        return
    if any(path.glob("*.bin")):
        raise OSError(
            f"the folder {path} has its weights as .bin, which may run code when opened; only "
            "safetensors are read. If you trust them, convert them: AutoModelForCausalLM"
            f".from_pretrained({str(path)!r}).save_pretrained(another_folder), and the tokenizer "
            "in the same way"
        )
    raise OSError(f"the folder {path} holds a configuration but no weights, *.safetensors")


def _only_gguf(path: Path) -> bool:
    return any(path.glob("*.gguf")) and not any(path.glob("*.safetensors"))


def why_no_hub(name: str) -> str:
    """Why the hub cannot give this model; "" if it can. Asks the hub once, for LONGEST_WAIT s:
    transformers would repeat the question for half a minute."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set, so the hub was not asked"
    own = constants.HF_HUB_ETAG_TIMEOUT
    timeout = LONGEST_WAIT if own == constants.DEFAULT_ETAG_TIMEOUT else own
    answers = Queue()
    Thread(target=lambda: answers.put(_ask_hub(name, timeout)), daemon=True).start()
    try:
        error = answers.get(timeout=timeout)  # looking up the hub's address may take longer
    except Empty:
        return (
            f"the Hugging Face hub gave no answer within {timeout:g} s (is there a network "
            "connection? HF_HUB_ETAG_TIMEOUT sets how long to wait)"
        )
    if isinstance(error, HFValidationError):
        raise cannot(name, "there is no such folder, and a hub id is written owner/name") from error
    if isinstance(error, RepositoryNotFoundError):
        return (
            "the Hugging Face hub has no such model, or you may not access it; if it is private "
            "or gated, ask there for access and log in with `hf auth login`"
        )
    if error is None or isinstance(error, HfHubHTTPError):  # it answers: transformers can ask it
        return ""
    return f"the Hugging Face hub cannot be reached ({error!r}; is there a network connection?)"


def _ask_hub(name: str, timeout: float) -> Exception | None:
    """None if it has the model, else the error, whose type depends on the HTTP library."""
    try:
        model_info(name, timeout=timeout)
    except Exception as error:
        return error
    return None


def read_weights(place: Place, dtype: torch.dtype) -> PreTrainedModel:
    """The model, on the CPU. Raises OSError or UnsupportedModelError."""
    if Path(place.name) in OURS.values():  # loads so fast that a progress bar would only flicker
        logging.disable_progress_bar()
    try:
        check_decoder_only(config := AutoConfig.from_pretrained(place.name, **place.options()))
        return AutoModelForCausalLM.from_pretrained(
            place.name,
            dtype=dtype,
            attn_implementation="eager",
            use_safetensors=True,
            **place.options(),
        )
    except OSError as error:
        raise cannot(place.name, " ".join(str(error).split())) from error
    except ValueError as error:
        if "Unrecognized configuration class" not in str(error):
            raise
        raise UnsupportedModelError(
            f"{place.name} is a {config.model_type} model; the engine serves causal language models"
        ) from error
    finally:
        logging.enable_progress_bar()


def read_tokenizer(place: Place) -> Tokenizer | None:
    """The tokenizer, or None: a model without one can still be served, with token ids."""
    try:
        return AutoTokenizer.from_pretrained(place.name, **place.options())
    except (OSError, ValueError):
        return None


def cannot(name: str, why: str) -> OSError:
    """The error, ending with a model that always loads."""
    return OSError(f"cannot load {name!r}: {why}. {OWN_MODEL}")
