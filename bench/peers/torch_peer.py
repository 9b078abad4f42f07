"""The literal simulation in PyTorch on the CPU: the same batches as in NumPy, no gradients.

torch.randn fills from one generator in one thread, so a generator a thread (Python threads; PyTorch releases the
interpreter's lock) is tried beside PyTorch's own threads.
"""

from collections import namedtuple

import torch

import protocol

Candidate = namedtuple("Candidate", "batch products workers")
torch.set_grad_enabled(False)


class Worker:
    """One thread's generator and buffers."""

    def __init__(self, workload, batch, products, seed):
        d, l = workload["dimension"], workload["context_length"]
        self.w = workload
        self.batch, self.products = batch, products
        self.generator = torch.Generator().manual_seed(seed)
        self.inputs = torch.empty((batch, l, d))
        self.noise = torch.empty((batch, l))
        self.directions = torch.empty((batch, d, 2))
        self.key_query = torch.tensor(workload["key_query"])
        self.inverse = 1.0 / torch.tensor(workload["temperatures"])

    def errors(self):
        """One batch of squared errors, temperatures by trials."""
        w, batch, generator = self.w, self.batch, self.generator
        d, l = w["dimension"], w["context_length"]
        task = torch.randn((batch, d), generator=generator).mul_(w["task_stddev"])
        query = torch.randn((batch, d), generator=generator).mul_(w["input_stddev"])
        label = (task * query).sum(1)
        label += torch.randn(batch, generator=generator) * w["noise_stddev"]
        self.directions[:, :, 0] = query @ self.key_query.T
        self.directions[:, :, 1] = task
        self.directions *= w["input_stddev"]
        torch.randn(self.inputs.shape, generator=generator, out=self.inputs)
        torch.randn(self.noise.shape, generator=generator, out=self.noise)
        if self.products == "bmm":
            both = torch.bmm(self.inputs, self.directions)
            scores, values = both[:, :, 0], both[:, :, 1]
        else:
            scores = torch.einsum("bld,bd->bl", self.inputs, self.directions[:, :, 0])
            values = torch.einsum("bld,bd->bl", self.inputs, self.directions[:, :, 1])
        values = torch.add(values, self.noise, alpha=w["noise_stddev"])
        mean_value = values.mean(1)
        covariance = (scores * values).mean(1) - scores.mean(1) * mean_value
        difference = mean_value - label + self.inverse[:, None] * covariance
        return difference.square_()

    def run(self, trials):
        torch.set_grad_enabled(False)  # a setting of each thread
        totals = protocol.Totals(len(self.inverse))
        while totals.trials < trials:
            errors = self.errors().double()
            totals.add(self.batch, errors.sum(1), errors.square().sum(1))
        return totals


def make_run(workload):
    def run(candidate, trials, seed, threads):
        torch.set_num_threads(threads if candidate.workers == 1 else 1)
        seeds = range(1000003 * seed, 1000003 * seed + candidate.workers)
        workers = [Worker(workload, candidate.batch, candidate.products, s) for s in seeds]
        return protocol.side_by_side(workers, trials)

    return run


def candidates(threads):
    return [
        Candidate(batch, products, workers)
        for workers in sorted({1, threads})
        for products in ("bmm", "einsum")
        for batch in (128, 512, 2048)
    ]


if __name__ == "__main__":
    protocol.serve(
        "PyTorch",
        torch.__version__,
        f"batched float32, torch.randn, no_grad, a generator a thread, {torch.backends.cpu.get_cpu_capability()}",
        protocol.simulation(make_run, candidates),
    )
