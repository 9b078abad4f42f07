"""PyTorch's side of bench/compare_rows: softmax of the rows of a matrix into one that is there, its fused attention, and
their backward passes. The backward pass of softmax has the weights, which ours computes again, and writes into a
matrix that is there, too: to allocate one takes several times as long.

Orders as bench/peers/rows.cpp takes them; the keys of WORKS and "row" are known here.
"""

import json
import sys
import time

import torch

torch.set_grad_enabled(False)
LENGTH, DIMENSION = 4096, 64
generator = torch.Generator().manual_seed(1)
scores = torch.randn((LENGTH, LENGTH), generator=generator)
out = torch.empty_like(scores)
queries, keys, values = torch.randn((3, 1, 1, LENGTH, DIMENSION), generator=generator)
cotangent = torch.randn((LENGTH, LENGTH), generator=generator)
output_cotangent = torch.randn(queries.shape, generator=generator)
torch.softmax(scores, -1, out=out)
pulled = torch.empty_like(scores)


def softmax_vjp(along, weights, to):
    return torch.ops.aten._softmax_backward_data.out(along, weights, -1, torch.float32, grad_input=to)


def forward_and_backward():
    """Fused attention and the gradients by queries, keys and values."""
    with torch.enable_grad():
        leaves = [matrix.detach().requires_grad_() for matrix in (queries, keys, values)]
        result = torch.nn.functional.scaled_dot_product_attention(*leaves)
        return torch.autograd.grad(result, leaves, output_cotangent)


def softmax_and_vjp():
    torch.softmax(scores, -1, out=out)
    softmax_vjp(cotangent, out, pulled)


WORKS = {
    "softmax and vjp": softmax_and_vjp,
    "softmax vjp": lambda: softmax_vjp(cotangent, out, pulled),
    "fused attention and backward": forward_and_backward,
    "softmax": lambda: torch.softmax(scores, -1, out=out),
    "fused attention": lambda: torch.nn.functional.scaled_dot_product_attention(queries, keys, values),
}


def fastest(work, repetitions):
    wall = processor = float("inf")
    work()
    for _ in range(repetitions):
        wall_before, processor_before = time.perf_counter(), time.process_time()
        work()
        wall = min(wall, time.perf_counter() - wall_before)
        processor = min(processor, time.process_time() - processor_before)
    return {"wall": wall, "processor": processor}


def say(message):
    print(json.dumps(message), flush=True)


say({"name": "PyTorch", "version": torch.__version__, "how": torch.backends.cpu.get_cpu_capability()})
for line in sys.stdin:
    order = json.loads(line)
    if order["work"] == "row":
        row = torch.tensor(order["scores"])
        weights = torch.softmax(row, -1)
        change = softmax_vjp(row, weights, torch.empty_like(row))
        say({"weights": weights.tolist(), "vjp": change.tolist()})
        continue
    torch.set_num_threads(order["threads"])
    say(fastest(WORKS[order["work"]], order["repetitions"]))
