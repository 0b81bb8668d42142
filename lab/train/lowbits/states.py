"""Keeps the float model's final states of training windows in a file, so that later passes and runs need not compute them.

A state has 576 numbers where the logits have 49,152, and is exact up to bf16. Logits are computed from states again, which
is a fifth of the float model's work.
"""
import hashlib

import torch

from lowbits.memory import fast_products


class States:
    """States of windows [count, time], computed when they are first asked for. Runs of the same model and text share a folder."""

    def __init__(self, teacher, windows, folder):
        self.teacher, self.windows = teacher, windows
        table = teacher.model.embed_tokens.weight.detach()
        key = hashlib.sha256(windows.numpy().tobytes() + table[:64].float().numpy().tobytes()).hexdigest()[:16]
        place, shape = folder / key, (*windows.shape, table.shape[1])
        place.mkdir(parents=True, exist_ok=True)
        self.values = torch.from_file(str(place / 'values.bin'), shared=True, size=windows.numel() * shape[-1],
                                      dtype=torch.bfloat16).view(shape)
        self.done = torch.from_file(str(place / 'done.bin'), shared=True, size=len(windows), dtype=torch.uint8)

    @torch.no_grad()
    def of(self, at):
        """The states [windows, time, hidden] of windows by number."""
        missing = at[self.done[at] == 0]
        if len(missing):
            with fast_products():
                found = self.teacher.model(input_ids=self.windows[missing], use_cache=False).last_hidden_state
            self.values[missing] = found.bfloat16()
            # A window counts once its values are there, so a stopped run leaves none in part.
            self.done[missing] = 1
        return self.values[at]
