"""PyTorch's side of bench/gpu/throughput.cu on the same GPU: the literal trial and a row of scores, in float.

Prints lines of the same form. The literal trial is that of bench/peers/torch_peer.py at one temperature and softmax at
eight; a batch is timed by CUDA's events, the least of five.
"""

import torch

torch.set_grad_enabled(False)
D, L, NOISE = 20, 40, 0.1**0.5
EIGHT = torch.tensor([0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4], device="cuda")


def tokens(batch):
    task = torch.randn((batch, D), device="cuda") / D**0.5
    query = torch.randn((batch, D), device="cuda")
    label = (task * query).sum(1) + NOISE * torch.randn(batch, device="cuda")
    inputs = torch.randn((batch, L, D), device="cuda")
    both = torch.bmm(inputs, torch.stack((query, task), 2))
    return both[:, :, 0], both[:, :, 1] + NOISE * torch.randn((batch, L), device="cuda"), label


def approximate(batch):
    scores, values, label = tokens(batch)
    mean = values.mean(1)
    covariance = (scores * values).mean(1) - scores.mean(1) * mean
    return (mean + covariance / 1.5 - label).square().mean()


def softmax(batch):
    scores, values, label = tokens(batch)
    weights = torch.softmax(scores[:, None, :] / EIGHT[:, None], 2)
    return ((weights * values[:, None, :]).sum(2) - label[:, None]).square().mean(0)


def score_rows(batch, length=1_000_000):
    scores = torch.randn((batch, length), device="cuda")
    return [torch.softmax(beta * scores, 1).square().sum(1).mean() for beta in (1.0, 4.0)]


def least_seconds(work, batch):
    least = float("inf")
    for attempt in range(6):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work(batch)
        end.record()
        torch.cuda.synchronize()
        if attempt > 0:
            least = min(least, start.elapsed_time(end) / 1000)
    return least


NORMALS = D * (L + 2) + L + 2
WORKS = {
    "literal approximate": (approximate, [2**k for k in range(12, 18)], NORMALS, "normals"),
    "literal softmax x 8": (softmax, [2**k for k in range(12, 18)], NORMALS, "normals"),
    "score rows of 1000000": (score_rows, [16, 64, 256], 1_000_000, "scores"),
}
for name, (work, batches, amount, unit) in WORKS.items():
    per_second, batch = max((amount * batch / least_seconds(work, batch), batch) for batch in batches)
    print(f"PyTorch {torch.__version__} {name},{batch},{amount * batch / per_second:.6g},{per_second:.6g},{unit}")
