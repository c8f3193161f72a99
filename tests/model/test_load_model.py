"""Loading from a folder: what is read, what is refused, and what is never run."""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from byte_tokenizer import VOCAB_SIZE, make_tokenizer
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.utils import validate_repo_id
from oracle import assert_same_tokens
from tiny import make_tiny_llama
from transformers import LlamaForCausalLM, T5Config, ViTConfig

import minibatch as mb
from minibatch.model import location
from minibatch.wayfarer import WEIGHTS

CONTEXT = 64


def make_llama() -> LlamaForCausalLM:
    return make_tiny_llama(CONTEXT, VOCAB_SIZE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A whole model: safetensors, tokenizer, chat template, generation_config.json."""
    path = tmp_path_factory.mktemp("model")
    hf = make_llama()
    hf.generation_config.eos_token_id = [1, 4]
    hf.save_pretrained(path)
    make_tokenizer().save_pretrained(path)
    return path


@pytest.fixture
def bare_folder(tmp_path) -> Path:
    """Weights and configuration, no tokenizer."""
    make_llama().save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def model(folder) -> mb.Model:
    return mb.load_model(folder, device="cpu")


# A folder ----------------------------------------------------------------------------------------


def test_a_folder_gives_its_model_and_tokenizer(model):
    assert isinstance(model.hf, LlamaForCausalLM)
    assert model.max_model_len == CONTEXT
    assert model.kv_shapes == [(2, 8), (2, 8)]
    assert model.vocab_size == VOCAB_SIZE
    assert model.dtype == torch.float32
    assert model.device.type == "cpu"
    assert not model.hf.training
    assert model.tokenizer.decode(model.encode("hotel in Porto"), skip_special_tokens=True) == (
        "hotel in Porto"
    )


def test_end_tokens_are_those_of_the_generation_config(model):
    assert model.eos_token_ids == {1, 4}


def test_no_step_is_stopped_for_a_walk_over_what_was_imported():
    gc.unfreeze()
    mb.load_model(make_llama())
    assert gc.get_freeze_count() > 100_000
    assert len(gc.get_objects()) < gc.get_freeze_count()


def test_the_weights_are_those_that_were_saved(model):
    own = make_llama().state_dict()
    for name, tensor in model.hf.state_dict().items():
        assert torch.equal(tensor, own[name]), name


def test_a_loaded_model_answers_as_generate_does(model):
    requests = [mb.Request(text, max_tokens=8) for text in ("plan", "São Paulo", "the hotel in")]
    completions = mb.Engine(model, mb.Continuous(2)).run(requests)
    for request, completion in zip(requests, completions, strict=True):
        assert_same_tokens(model, request, completion.token_ids)
        assert completion.prompt_token_ids == model.encode(request.prompt)


def test_a_folder_may_be_named_by_a_string(folder):
    assert mb.load_model(str(folder), device="cpu").max_model_len == CONTEXT


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("bfloat16", torch.bfloat16), (torch.bfloat16, torch.bfloat16), ("float16", torch.float16)],
    ids=["bfloat16", "torch.bfloat16", "float16"],
)
def test_a_half_precision_model_keeps_its_cache_in_its_precision(folder, name, dtype):
    model = mb.load_model(folder, device="cpu", dtype=name)
    assert model.dtype == dtype
    engine = mb.Engine(model, mb.Continuous(2))
    assert engine.runner.kv_cache.keys[0].dtype == dtype
    requests = [mb.Request([5, 6, 7], max_tokens=n, ignore_eos=True) for n in (3, 5)]
    assert [len(done.token_ids) for done in engine.run(requests)] == [3, 5]


def test_weights_saved_in_bfloat16_are_computed_in_float32_unless_asked(tmp_path):
    make_llama().to(torch.bfloat16).save_pretrained(tmp_path)
    assert mb.load_model(tmp_path, device="cpu").dtype == torch.float32


@pytest.mark.parametrize("dtype", ["float23", "manual_seed"])
def test_a_dtype_that_does_not_exist_is_refused_by_name(folder, dtype):
    with pytest.raises(ValueError, match=f"{dtype}.*float32"):
        mb.load_model(folder, dtype=dtype)


# Length ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [1, 40, CONTEXT])
def test_a_shorter_context_may_be_asked(folder, asked):
    assert mb.load_model(folder, device="cpu", max_model_len=asked).max_model_len == asked


@pytest.mark.parametrize("asked", [0, -5, CONTEXT + 1])
def test_a_context_out_of_bounds_is_refused_with_the_numbers(folder, asked):
    with pytest.raises(ValueError, match=f"max_model_len is {asked}; .* allows 1 to {CONTEXT}"):
        mb.load_model(folder, device="cpu", max_model_len=asked)


# Which model -------------------------------------------------------------------------------------


def test_the_environment_names_the_model(folder, monkeypatch):
    monkeypatch.setenv("MINIBATCH_MODEL", str(folder))
    assert mb.load_model(device="cpu").hf.config._name_or_path == str(folder)


def test_a_name_given_goes_before_the_environment(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("MINIBATCH_MODEL", str(tmp_path / "nothing here"))
    assert mb.load_model(folder, device="cpu").max_model_len == CONTEXT


def test_the_course_s_own_model_can_be_asked_for_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIBATCH_MODEL", str(tmp_path / "nothing here"))
    assert mb.load_model("wayfarer", device="cpu").hf.name_or_path == str(WEIGHTS)


@pytest.mark.parametrize(
    "name",
    ["no-such-owner/no-such-model", "no-such-model", "/no/such/folder"],
    ids=["hub id", "short hub id", "path"],
)
def test_an_unknown_model_without_network_is_an_error_that_names_the_default(name):
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    with pytest.raises(OSError, match=rf"cannot load '{name}'.*load_model\(.wayfarer.\)"):
        mb.load_model(name)


# What is refused ---------------------------------------------------------------------------------


def test_a_folder_without_a_configuration_holds_no_model(tmp_path):
    with pytest.raises(OSError, match=r"does not hold a model: config\.json is missing"):
        mb.load_model(tmp_path)


def test_a_configuration_without_weights_holds_no_model(tmp_path):
    make_llama().config.save_pretrained(tmp_path)
    with pytest.raises(OSError, match=r"holds a configuration but no weights, \*\.safetensors"):
        mb.load_model(tmp_path)


def test_a_gguf_is_told_where_its_like_is_to_be_had(tmp_path):
    path = tmp_path / "model.gguf"
    path.touch()
    for name in (path, tmp_path):
        with pytest.raises(OSError, match="GGUF is not supported; .* in safetensors"):
            mb.load_model(name)


def test_a_file_is_told_to_be_given_by_its_folder(folder):
    with pytest.raises(OSError, match=f"this is a file; give its folder, '{folder}'"):
        mb.load_model(folder / "model.safetensors")


@pytest.mark.parametrize("name", ["/no/such/folder", "./nor this one", "~/nor that", "a/b/c"])
def test_what_can_only_be_a_folder_is_not_looked_for_on_the_hub(name):
    path = re.escape(str(Path(name).expanduser().absolute()))
    with pytest.raises(OSError, match=f"cannot load '{name}': there is no folder {path}\\."):
        mb.load_model(name)


def test_a_folder_may_lie_under_one_s_own(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert mb.load_model(f"~/{folder.name}", device="cpu").max_model_len == CONTEXT


def test_an_encoder_decoder_is_refused_before_its_weights_are_read(tmp_path):
    T5Config(d_model=8, num_layers=1, num_heads=1, d_ff=8).save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(mb.UnsupportedModelError, match="t5 is an encoder–decoder model; .* Llama"):
        mb.load_model(tmp_path)


def test_a_model_that_writes_no_text_is_refused(tmp_path):
    ViTConfig().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(mb.UnsupportedModelError, match="is a vit model; .* causal language models"):
        mb.load_model(tmp_path)


# The hub -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answers", [False, pytest.param(True, marks=pytest.mark.full)], ids=["closed", "silent"]
)
def test_a_hub_that_does_not_answer_is_asked_once(answers):
    """transformers alone asks six times, over 23 seconds."""
    script = """if True:
        import time
        from minibatch.model import load
        begin = time.perf_counter()
        try:
            load.load_model("nobody/nothing")
        except OSError as error:
            print(error, f"After {time.perf_counter() - begin:.1f} s.")
    """
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes calls, says nothing
        where = f"http://127.0.0.1:{server.getsockname()[1]}"
        if not answers:
            server.close()
        environment = os.environ | {"HF_ENDPOINT": where, "HF_HUB_OFFLINE": "0"}
        environment |= {"TRANSFORMERS_OFFLINE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
    assert re.search(
        r"^cannot load 'nobody/nothing': there is no such folder here, it was not downloaded "
        r"before, and the Hugging Face hub (gave no answer|cannot be reached) "
        r".*is there a network.*load_model\(.way",
        done.stdout,
    )
    assert float(re.search(r"After (\S+) s", done.stdout)[1]) <= 3
    assert "Retrying" not in done.stderr


def test_without_the_hub_a_model_that_was_downloaded_is_served(folder, monkeypatch):
    monkeypatch.setattr(location, "try_to_load_from_cache", lambda name, file: str(folder / file))
    assert location.find("some-owner/some-model") == location.Place("some-owner/some-model", True)


@pytest.fixture
def hub(monkeypatch):
    """A hub that answers with an error of your choice."""

    def answer(error):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(location, "model_info", Mock(side_effect=error))

    return answer


def test_a_model_that_the_hub_does_not_have_may_need_a_login(hub):
    hub(RepositoryNotFoundError("404", response=Mock()))
    with pytest.raises(OSError, match="the Hugging Face hub has no such model, .* `hf auth login`"):
        mb.load_model("nobody/nothing")


def test_a_name_that_is_no_hub_id_is_told_how_one_is_written(hub):
    hub(lambda name, timeout: validate_repo_id(name))
    with pytest.raises(OSError, match="'two words': .* no such folder, and a hub id is written"):
        mb.load_model("two words")


def test_a_hub_that_answers_is_left_to_transformers(hub):
    for answer in (None, HfHubHTTPError("405", response=Mock())):
        hub(answer)
        assert location.find("some-owner/some-model") == location.Place(
            "some-owner/some-model", False
        )


# A model that one has ----------------------------------------------------------------------------


def test_a_model_of_transformers_is_taken_as_it_is():
    hf, tokenizer = make_llama().to(torch.bfloat16), make_tokenizer()
    model = mb.load_model(hf, tokenizer=tokenizer, max_model_len=40)
    assert (model.hf, model.tokenizer, model.dtype) == (hf, tokenizer, torch.bfloat16)
    assert (model.device.type, model.max_model_len) == ("cpu", 40)
    assert mb.load_model(hf, dtype="float32").dtype == torch.float32


def test_a_tokenizer_given_goes_before_the_folder_s(folder):
    tokenizer = make_tokenizer(chat_template=None)
    assert mb.load_model(folder, tokenizer=tokenizer, device="cpu").tokenizer is tokenizer


def test_a_model_is_made_of_one_of_transformers():
    with pytest.raises(TypeError, match=r"a str is not a transformers model; mb\.load_model takes"):
        mb.Model("wayfarer")


@pytest.mark.parametrize("thing", [7, mb.PretendModel(), make_tokenizer()])
def test_what_is_neither_a_name_nor_a_model_is_refused(thing):
    kind = type(thing).__name__
    says = (
        f"a {kind} is not a model; give a hub id, a folder, or a model object of the transformers"
    )
    with pytest.raises(TypeError, match=says):
        mb.load_model(thing)


class Touch:
    """A pickle that makes a file when it is read: what untrusted weights could do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_weights_are_refused_and_not_opened(tmp_path):
    make_llama().config.save_pretrained(tmp_path)
    proof = tmp_path / "the pickle was run"
    torch.save({"model.norm.weight": Touch(proof)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(OSError, match=r"weights as \.bin, .* only safetensors .* convert"):
        mb.load_model(tmp_path)
    assert not proof.exists()


MODULE = """
from pathlib import Path
Path({proof!r}).touch()
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
class OwnConfig(LlamaConfig):
    model_type = "own"
class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""


def ask_for_own_code(path: Path, model_type: str | None) -> Path:
    """Point the folder's configuration to a module of its own; returns what that would leave."""
    proof = path / "its code was run"
    (path / "own.py").write_text(MODULE.format(proof=str(proof)))
    config = json.loads((path / "config.json").read_text())
    config["auto_map"] = {
        "AutoConfig": "own.OwnConfig",
        "AutoModelForCausalLM": "own.OwnForCausalLM",
    }
    config["model_type"] = model_type or config["model_type"]
    (path / "config.json").write_text(json.dumps(config))
    return proof


def test_a_model_that_exists_only_as_its_own_code_is_refused_unrun(bare_folder):
    proof = ask_for_own_code(bare_folder, "own")
    with pytest.raises((OSError, ValueError), match="trust_remote_code|own"):
        mb.load_model(bare_folder)
    assert not proof.exists()


def test_a_known_model_with_code_of_its_own_is_loaded_without_that_code(bare_folder):
    proof = ask_for_own_code(bare_folder, None)
    model = mb.load_model(bare_folder, device="cpu")
    assert type(model.hf) is LlamaForCausalLM
    assert not proof.exists()


def test_a_tokenizer_with_code_of_its_own_is_loaded_without_that_code(bare_folder):
    make_tokenizer().save_pretrained(bare_folder)
    proof = ask_for_own_code(bare_folder, None)
    path = bare_folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["auto_map"] = {"AutoTokenizer": [None, "own.OwnTokenizer"]}
    path.write_text(json.dumps(config))
    mb.load_model(bare_folder, device="cpu")
    assert not proof.exists()


# Without a tokenizer -----------------------------------------------------------------------------


def test_weights_alone_are_served_by_token_ids(bare_folder):
    model = mb.load_model(bare_folder, device="cpu")
    assert model.tokenizer is None
    engine = mb.Engine(model, mb.Continuous(2))
    [completion] = engine.run([mb.Request([5, 6, 7], max_tokens=4, ignore_eos=True)])
    assert len(completion.token_ids) == 4
    assert completion.text == ""


def test_a_text_prompt_without_a_tokenizer_is_an_error_that_says_what_to_give(bare_folder):
    engine = mb.Engine(mb.load_model(bare_folder, device="cpu"), mb.Continuous(2))
    with pytest.raises(ValueError, match="no tokenizer; give prompts as lists of token ids"):
        engine.add(mb.Request("plan"))
    assert not engine.has_work


# Text in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["plan", "<s>plan"], ids=["without", "with"])
def test_the_beginning_of_text_token_stands_there_once(model, text):
    ids = model.encode(text)
    assert ids[0] == model.tokenizer.bos_token_id
    assert ids.count(model.tokenizer.bos_token_id) == 1


def test_a_chat_prompt_is_not_given_a_second_beginning(model):
    prompt = model.chat("plan three days")
    assert prompt.startswith("<s>")  # the template writes it
    assert model.encode(prompt).count(model.tokenizer.bos_token_id) == 1
    assert model.encode(prompt) == model.tokenizer.apply_chat_template(
        [{"role": "user", "content": "plan three days"}],
        add_generation_prompt=True,
        return_dict=False,
    )


def test_chat_writes_the_models_own_format(model):
    assert model.chat("plan") == "<s><|user|>plan</s><|assistant|>"
    assert model.chat("plan", system="be brief") == (
        "<s><|system|>be brief</s><|user|>plan</s><|assistant|>"
    )


def test_chat_roles_are_single_tokens(model):
    tokenizer = model.tokenizer
    ids = model.encode(model.chat("plan"))
    assert ids[1] == tokenizer.convert_tokens_to_ids("<|user|>")
    assert ids[-1] == tokenizer.convert_tokens_to_ids("<|assistant|>")


def test_chat_without_a_template_is_the_text_itself(folder):
    plain = mb.Model(make_llama(), make_tokenizer(chat_template=None))
    assert plain.chat("plan") == "plan"
    assert plain.chat("plan", system="be brief") == "be brief\n\nplan"


def test_chat_without_a_tokenizer_is_the_text_itself():
    assert mb.Model(make_llama()).chat("plan") == "plan"


@pytest.mark.parametrize("prompt", ["<s>", "plan"])
def test_a_text_of_any_length_becomes_at_least_one_token(model, prompt):
    engine = mb.Engine(model, mb.Continuous(2))
    [completion] = engine.run([mb.Request(prompt, max_tokens=2, ignore_eos=True)])
    assert len(completion.prompt_token_ids) >= 1
    assert len(completion.token_ids) == 2
