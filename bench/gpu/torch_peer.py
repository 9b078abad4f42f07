"""PyTorch's side of bench/gpu/throughput.cu on the same GPU: the literal trial, rows of scores and maps, in float.

The literal trial is that of bench/peers/torch_peer.py at one temperature, and softmax at eight. Maps of matrices are
timed with their copies from the host's memory and back, as ours, and without them.
"""

import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from protocol import (  # noqa: E402
    CONTEXT_LENGTH,
    DIMENSION,
    EIGHT_TEMPERATURES,
    GPU_WORKS,
    NOISE_STDDEV,
    ROW_LENGTH,
    print_throughput,
)

torch.set_grad_enabled(False)
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
EIGHT = torch.tensor(EIGHT_TEMPERATURES, device=DEVICE)


def normals(*shape):
    return torch.randn(shape, device=DEVICE)


def tokens(batch):
    task = normals(batch, DIMENSION) / DIMENSION**0.5
    query = normals(batch, DIMENSION)
    label = (task * query).sum(1) + NOISE_STDDEV * normals(batch)
    inputs = normals(batch, CONTEXT_LENGTH, DIMENSION)
    both = torch.bmm(inputs, torch.stack((query, task), 2))
    return both[:, :, 0], both[:, :, 1] + NOISE_STDDEV * normals(batch, CONTEXT_LENGTH), label


def approximate(batch):
    scores, values, label = tokens(batch)
    mean = values.mean(1)
    covariance = (scores * values).mean(1) - scores.mean(1) * mean
    return (mean + covariance / 1.5 - label).square().mean()


def softmax(batch):
    scores, values, label = tokens(batch)
    weights = torch.softmax(scores[:, None, :] / EIGHT[:, None], 2)
    return ((weights * values[:, None, :]).sum(2) - label[:, None]).square().mean(0)


def score_rows(batch):
    scores = normals(batch, ROW_LENGTH)
    return [torch.softmax(beta * scores, 1).square().sum(1).mean() for beta in (1.0, 4.0)]


def seconds_of(work, batch):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work(batch)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def softmax_of_rows(scores):
    return [torch.softmax(scores, 1)]


def attention(queries, keys, values):
    batched = (matrix[None, None] for matrix in (queries, keys, values))
    return [torch.nn.functional.scaled_dot_product_attention(*batched)[0, 0]]


@torch.enable_grad()
def attention_backward(queries, keys, values):
    inputs = [matrix.detach().requires_grad_() for matrix in (queries, keys, values)]
    out = attention(*inputs)[0]
    return torch.autograd.grad(out, inputs, out.detach())


def print_maps(length=4096, width=64):
    """A line per map, with the copies and without, by the wall clock: the least of five after the first."""
    layer = [torch.randn(length, width) for _ in range(3)]
    for name, work, inputs in (
        ("softmax of rows", softmax_of_rows, [torch.randn(length, length)]),
        ("attention of 64 components", attention, layer),
        ("attention backward", attention_backward, layer),
    ):
        there = [matrix.to(DEVICE) for matrix in inputs]
        for what, call in (
            ("", lambda: [result.cpu() for result in work(*(matrix.to(DEVICE) for matrix in inputs))]),
            (" without copies", lambda: work(*there)),
        ):
            times = []
            for _ in range(6):
                torch.cuda.synchronize()
                start = time.perf_counter()
                call()
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
            least = min(times[1:])
            print(f"PyTorch {name}{what},{length},{least:.6g},{length**2 / least:.6g},scores", flush=True)


if __name__ == "__main__":
    print_throughput(f"PyTorch {torch.__version__}", dict(zip(GPU_WORKS, (approximate, softmax, score_rows))), seconds_of)
    print_maps()
