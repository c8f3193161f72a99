"""Trains Wayfarer from scratch: `python -m minibatch.wayfarer.train --out DIR`.

`--size junior` trains Wayfarer Junior instead, the draft model (sizes.py): on the same text, and at
the end on Wayfarer's own predictions.

Training has three phases. The first 6 % of the tokens are look-ups in clients' files. Then come
short rows: questions alone, and questions after a client's file. In the second half, every second
step has long rows, in which several questions follow the policy manual and a client's file. In the
loss, a token of an answer counts ten times a token of a prompt.

The data of step `s` are a function of (seed, s), so a run stopped at a checkpoint resumes with
`--resume` as if it had not been stopped.
"""

import argparse
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from minibatch.wayfarer import JUNIOR, WEIGHTS
from minibatch.wayfarer.training.evaluation import behind_long_prompts, examine, held_out
from minibatch.wayfarer.training.export import export
from minibatch.wayfarer.training.model_card import junior_card, model_card
from minibatch.wayfarer.training.optimizers import optimizers
from minibatch.wayfarer.training.rows import STEP_TOKENS, Phase, Rows, step_rows
from minibatch.wayfarer.training.sizes import SIZES, Size, new_model
from minibatch.wayfarer.training.tokenizer import train_tokenizer

# shares of the tokens: the end of the look-ups, the start of the long rows
FILE_PHASE, LONG_PHASE = 0.06, 0.50
WARMUP_STEPS, DECAY = 40, 0.60  # the learning rate falls linearly over the last 60 %
CHECKPOINT_EVERY_S, SAMPLE_EVERY_S = 180, 900


@dataclass(slots=True)
class Progress:
    """What a checkpoint stores besides the weights; times in seconds."""

    step: int = 0
    tokens: int = 0
    training_s: float = 0.0
    cpu_s: float = 0.0


def losses(
    model: LlamaForCausalLM, rows: Rows, teacher: LlamaForCausalLM | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross entropy per token: weighted, for training; and of the answers only, to print. With a
    teacher, the teacher's probabilities are the targets."""
    counted = rows.weights > 0
    weights = rows.weights[counted]
    labels = rows.labels[counted]
    if teacher is not None:
        with torch.no_grad():
            labels = logits(teacher, rows, counted).softmax(dim=-1)
    each = nn.functional.cross_entropy(logits(model, rows, counted), labels, reduction="none")
    return (each * weights).sum() / weights.sum(), each[weights == 1].mean().detach()


def logits(model: LlamaForCausalLM, rows: Rows, counted: torch.Tensor) -> torch.Tensor:
    """float32 [tokens counted, vocabulary]; counted: bool [rows, row_length]."""
    hidden = model.model(
        input_ids=rows.input_ids,
        position_ids=rows.positions,
        attention_mask=rows.mask(),
        use_cache=False,
    ).last_hidden_state
    return model.lm_head(hidden[counted]).float()


def lr_factor(step: int, done: float) -> float:
    """Share of the peak learning rate at this step; `done` is the share of tokens already seen."""
    return min(1.0, (step + 1) / WARMUP_STEPS, max(0.0, (1.0 - done) / DECAY))


def phase_of(step: int, done: float) -> Phase:
    """Which rows this step has; `done` is the share of tokens already seen."""
    if done < FILE_PHASE:
        return "file"
    return "long" if done >= LONG_PHASE and step % 2 == 0 else "short"


def train(
    out: Path,
    weights: Path,
    num_tokens: int,
    *,
    size: Size,
    seed: int,
    device: str,
    bfloat16: bool,
    resume: bool,
) -> None:
    """Trains on `num_tokens` tokens, padding included, and exports the result to `weights`.

    `out` holds the checkpoint; with `resume` a run goes on from there. With `bfloat16` matrices
    are multiplied in bfloat16: faster on a GPU and on CPUs with AMX, five times slower on others.
    """
    torch.manual_seed(seed)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer()
    model = new_model(size, tokenizer).to(device)
    teacher = LlamaForCausalLM.from_pretrained(WEIGHTS).to(device) if size.taught else None
    optims = optimizers(model, bfloat16=bfloat16)
    progress, checkpoint = Progress(), out / "checkpoint.pt"
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
        factor = lr_factor(progress.step, done) * size.lr
        for optimizer in optims:
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
        phase = phase_of(progress.step, done)
        rows = step_rows(tokenizer, seed, progress.step, phase).to(device)
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=bfloat16):
            taught = done >= 1 - size.taught
            loss, answer_loss = losses(model, rows, teacher if taught else None)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optims:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        value = answer_loss.item()

        duration_s = time.monotonic() - started
        progress.step += 1
        progress.tokens += rows.input_ids.numel()
        progress.training_s += duration_s
        progress.cpu_s += time.process_time() - cpu_started
        if progress.step % 20 == 0 or progress.step <= 3:
            print(
                f"step {progress.step:5}  {progress.tokens / 1e6:6.2f} M tokens  "
                f"{phase:5}  loss {value:.4f}  lr x{factor:.2f}  "
                f"{STEP_TOKENS / duration_s:6.0f} tok/s  {progress.training_s:6.0f} s training, "
                f"{progress.cpu_s:6.0f} s of CPU",
                flush=True,
            )
        now = time.monotonic()
        finished = progress.tokens >= num_tokens
        if finished or now - last_saved > CHECKPOINT_EVERY_S:
            save_checkpoint(checkpoint, model, optims, progress)
            last_saved = now
        if finished or now - last_sample > SAMPLE_EVERY_S or progress.step == 400:
            print(samples(model, tokenizer), flush=True)
            last_sample = now
    precision = "bfloat16 autocast" if bfloat16 else "float32"
    record = training_record(progress, model, device, precision) | {"taught": size.taught}
    export(model, tokenizer, record, weights, junior_card if size.taught else model_card)


def samples(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int = 8) -> str:
    """Its answers to held-out questions: alone, after a client's file, and after a long prompt."""
    clients = held_out(count, clients=True)
    examples = held_out(count, clients=False) + clients + behind_long_prompts(tokenizer, clients)
    model.eval()
    exams = examine(model, tokenizer, examples)
    model.train()
    lines = [
        f"{'right' if exam.verdict.good else 'WRONG'}  {exam.example.query}\n{exam.generated.text}"
        for exam in exams
    ]
    return "\n".join([f"{sum(exam.verdict.good for exam in exams)} of {len(exams)} right", *lines])


def training_record(
    progress: Progress, model: nn.Module, device: str, precision: str
) -> dict[str, int | float | str]:
    """The facts of the training for the model card; times in seconds."""
    where = (
        torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} CPU cores"
    )
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {
        **asdict(progress),
        "parameters": parameters,
        "device": where,
        "precision": precision,
        "torch": torch.__version__.split("+")[0],
    }


def save_checkpoint(
    path: Path, model: nn.Module, optims: list[torch.optim.Optimizer], progress: Progress
) -> None:
    """Writes a file beside `path`, then renames it: a checkpoint is never incomplete."""
    state = {
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optims],
        "progress": asdict(progress),
    }
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def main() -> None:
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="wayfarer")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: checkpoints/ the size")
    parser.add_argument(
        "--weights", type=Path, metavar="DIR", help="default: where the course's are"
    )
    parser.add_argument("--tokens", type=int, help="default: what the size was trained on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bfloat16", action="store_true", help="for GPUs and CPUs with AMX")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    train(
        arguments.out or Path("checkpoints") / arguments.size,
        arguments.weights or {"wayfarer": WEIGHTS, "junior": JUNIOR}[arguments.size],
        arguments.tokens or size.tokens,
        size=size,
        seed=arguments.seed,
        device=arguments.device,
        bfloat16=arguments.bfloat16,
        resume=arguments.resume,
    )


if __name__ == "__main__":
    main()
