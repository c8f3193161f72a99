"""Trains Wayfarer from scratch: `python -m minibatch.wayfarer.train --out DIR`.

Two phases. The first 70 % of the tokens are short rows: questions alone, and questions behind a
client's file. After that every second step has long rows, in which several questions stand behind
the policy manual and a client's file. Only the tokens of answers count in the loss.

The data of step `s` are a function of (seed, s), so a run stopped at a checkpoint resumes with
`--resume` as if it had not been stopped.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from minibatch.wayfarer.corpus import Example, Setting, conversations
from minibatch.wayfarer.evaluate import sample_report
from minibatch.wayfarer.export import export
from minibatch.wayfarer.tokenizer import CONTEXT, VOCAB_SIZE, train_tokenizer

SHORT_ROW, LONG_ROW = 384, 1408  # tokens
STEP_TOKENS = 6144  # tokens of one step, padding included
LONG_PHASE = 0.70  # share of the tokens after which long rows begin
WARMUP_STEPS, DECAY = 40, 0.35  # the learning rate falls linearly over the last 35 %
MUON_LR, ADAM_LR = 0.02, 3e-3
IGNORE = -100
CHECKPOINT_EVERY_S, SAMPLE_EVERY_S = 180, 900


@dataclass(slots=True)
class Progress:
    """What a checkpoint remembers besides the weights; times in seconds."""

    step: int = 0
    tokens: int = 0
    training_s: float = 0.0
    cpu_s: float = 0.0


def new_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Wayfarer with random weights; layers, query heads and KV heads all differ in number."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=256,
            num_hidden_layers=6,
            num_attention_heads=8,
            num_key_value_heads=4,
            head_dim=32,
            intermediate_size=704,
            max_position_embeddings=CONTEXT,
            rope_theta=10_000.0,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


# Data: conversations -> tokens and labels -> rows.


def encode_all(
    tokenizer: PreTrainedTokenizerFast, chats: list[list[Example]], row_length: int
) -> list[tuple[list[int], list[int]]]:
    """(input ids, labels) of each conversation; questions that overrun `row_length` are left out.

    labels[i] is the token that should follow input_ids[i], or IGNORE where it is not of an answer.
    """
    end, system, user, assistant = tokenizer.convert_tokens_to_ids(
        ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    )
    texts = [t for turns in chats for t in [turns[0].system, *_turn_texts(turns)]]
    encoded = iter(tokenizer(texts, add_special_tokens=False)["input_ids"])
    result = []
    for turns in chats:
        prompt = next(encoded)
        ids = [system, *prompt, end] if prompt else []
        labels = [IGNORE] * len(ids)
        for _ in turns:
            question, answer = next(encoded), next(encoded)
            before = [user, *question, end, assistant]
            if len(ids) + len(before) + len(answer) + 1 <= row_length:
                ids += [*before, *answer, end]
                labels += [IGNORE] * (len(before) - 1) + [*answer, end, IGNORE]
        result.append((ids, labels))
    return result


def _turn_texts(turns: list[Example]) -> Iterator[str]:
    for example in turns:
        yield example.query
        yield example.answer


def rows(
    tokenizer: PreTrainedTokenizerFast, seed: str, setting: Setting, count: int, row_length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """`count` rows packed with conversations: input ids and labels, int64 [count, row_length].

    Conversations are placed longest first, each in the first row with room; what is left over is
    padding. A row is read with one causal mask; each conversation starts with its own first token.
    """
    stream, drawn, free = conversations(seed, setting), [], count * row_length
    while free > 0:
        drawn += encode_all(tokenizer, [next(stream)], row_length)
        free -= len(drawn[-1][0])
    packed: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
    for ids, labels in sorted(drawn, key=lambda item: -len(item[0])):
        for row_ids, row_labels in packed:
            if len(row_ids) + len(ids) <= row_length:
                row_ids += ids
                row_labels += labels
                break
    input_ids = torch.full((count, row_length), tokenizer.pad_token_id)
    targets = torch.full((count, row_length), IGNORE)
    for index, (ids, labels) in enumerate(packed):
        input_ids[index, : len(ids)] = torch.tensor(ids)
        targets[index, : len(ids)] = torch.tensor(labels)
    return input_ids, targets


def step_batches(
    tokenizer: PreTrainedTokenizerFast, seed: int, step: int, *, long: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of one step: long ones, or short ones of which half have a client's file."""
    name = f"{seed} {step}"
    if long:
        return rows(tokenizer, name, "manual", STEP_TOKENS // LONG_ROW, LONG_ROW)
    count = STEP_TOKENS // SHORT_ROW // 2
    plain = rows(tokenizer, name, "plain", count, SHORT_ROW)
    client = rows(tokenizer, name, "client", count, SHORT_ROW)
    return torch.cat([plain[0], client[0]]), torch.cat([plain[1], client[1]])


# Learning.


def answer_loss(model: LlamaForCausalLM, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of answer tokens; logits are computed at their positions only."""
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    wanted = labels != IGNORE
    return nn.functional.cross_entropy(model.lm_head(hidden[wanted]).float(), labels[wanted])


def optimizers(model: LlamaForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon for the hidden matrices, AdamW for embeddings and norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    rest = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    found = [
        torch.optim.Muon(matrices, lr=MUON_LR, weight_decay=0.01, nesterov=True),
        torch.optim.AdamW(rest, lr=ADAM_LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]
    for optimizer in found:
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return found


def lr_factor(step: int, done: float) -> float:
    """Share of the peak learning rate at this step; `done` is the share of tokens already seen."""
    return min(1.0, (step + 1) / WARMUP_STEPS, max(0.0, (1.0 - done) / DECAY))


def train(out: Path, num_tokens: int, seed: int, device: str, resume: bool) -> None:
    """Trains on `num_tokens` tokens, padding included, and exports the result to `out/weights`."""
    torch.manual_seed(seed)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer()
    model = new_model(tokenizer).to(device)
    optims, progress, checkpoint = optimizers(model), Progress(), out / "checkpoint.pt"
    if resume and checkpoint.exists():
        state = torch.load(checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        for optimizer, saved in zip(optims, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        progress = Progress(**state["progress"])
    print(f"{model.num_parameters():,} parameters, {num_tokens:,} tokens, {progress}", flush=True)

    last_saved = last_sample = time.monotonic()
    while progress.tokens < num_tokens:
        started, cpu_started = time.monotonic(), time.process_time()
        done = progress.tokens / num_tokens
        factor = lr_factor(progress.step, done)
        for optimizer in optims:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
        long = done >= LONG_PHASE and progress.step % 2 == 0
        ids, labels = step_batches(tokenizer, seed, progress.step, long=long)
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
            loss = answer_loss(model, ids.to(device), labels.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optims:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        value = loss.item()

        duration_s = time.monotonic() - started
        progress.step += 1
        progress.tokens += ids.numel()
        progress.training_s += duration_s
        progress.cpu_s += time.process_time() - cpu_started
        if progress.step % 20 == 0 or progress.step <= 3:
            print(
                f"step {progress.step:5}  {progress.tokens / 1e6:6.2f} M tokens  "
                f"{'long ' if long else 'short'}  loss {value:.4f}  lr x{factor:.2f}  "
                f"{ids.numel() / duration_s:6.0f} tok/s  {progress.training_s:6.0f} s training, "
                f"{progress.cpu_s:6.0f} s of CPU",
                flush=True,
            )
        now = time.monotonic()
        finished = progress.tokens >= num_tokens
        if finished or now - last_saved > CHECKPOINT_EVERY_S:
            save_checkpoint(checkpoint, model, optims, progress)
            last_saved = now
        if finished or now - last_sample > SAMPLE_EVERY_S or progress.step == 200:
            print(sample_report(model, tokenizer, long=done > LONG_PHASE), flush=True)
            last_sample = now
    export(model, tokenizer, out / "weights")


def save_checkpoint(
    path: Path, model: nn.Module, optims: list[torch.optim.Optimizer], progress: Progress
) -> None:
    """Writes beside `path` and then renames, so that a checkpoint is whole or not there."""
    state = {
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optims],
        "progress": asdict(progress),
    }
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("checkpoints/wayfarer"))
    parser.add_argument("--tokens", type=int, default=17_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    arguments = parser.parse_args()
    train(
        arguments.out, arguments.tokens, arguments.seed, arguments.device, arguments.resume
    )


if __name__ == "__main__":
    main()
