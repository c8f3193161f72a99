"""The optimizers of the training: Muon for the hidden matrices, AdamW for the rest.

PyTorch's Muon multiplies in bfloat16, which a CPU without AMX only emulates; there, its
Newton-Schulz iterations are replaced by the same ones in float32.
"""

import torch
from torch import nn

MUON_LR, ADAM_LR = 0.01, 2e-3


def optimizers(model: nn.Module, *, bfloat16: bool) -> list[torch.optim.Optimizer]:
    """Muon for the hidden matrices, AdamW for embeddings and norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    rest = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    if not bfloat16:  # PyTorch's Muon has no setting for it; it would take 38 % of every step
        torch.optim._muon._zeropower_via_newtonschulz = nearest_orthogonal
    found = [
        torch.optim.Muon(matrices, lr=MUON_LR, weight_decay=0.01, nesterov=True),
        torch.optim.AdamW(rest, lr=ADAM_LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]
    for optimizer in found:
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return found


def nearest_orthogonal(
    matrix: torch.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> torch.Tensor:
    """Newton-Schulz iterations as Muon makes them, but in float32: all singular values go to 1."""
    a, b, c = coefficients
    x = matrix / matrix.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
        polynomial = b * gram + c * (gram @ gram)
        x = a * x + (polynomial @ x if x.shape[0] <= x.shape[1] else x @ polynomial)
    return x
