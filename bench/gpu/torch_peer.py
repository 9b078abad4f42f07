"""PyTorch's side of bench/gpu/throughput.cu on the same GPU: the literal trial and rows of scores, in float.

The literal trial is that of bench/peers/torch_peer.py at one temperature, and softmax at eight.
"""

import pathlib
import sys

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


if __name__ == "__main__":
    print_throughput(f"PyTorch {torch.__version__}", dict(zip(GPU_WORKS, (approximate, softmax, score_rows))), seconds_of)
