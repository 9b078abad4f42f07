"""NumPy's side of bench/compare classification: the loss of softmax attention over a grid of kappas and gains.

What a competent user would write, in two ways. Both: float32, contexts drawn in blocks by rejection without a Python
loop over points, kernels summed by class once a kappa, logits relative to the largest, a process a core. "arrays" takes a
block of contexts at once, contexts x kappas x gains x classes, as one writes it down; "cache" goes context by context and
class by class through buffers that stay in the cache, as one writes it after an afternoon with a profiler.

Orders (bench/peers/protocol.py): {"work": "tune", "way": w, "threads": t} finds the best block;
{"work": "grid", "way": w, "trials": n, "seed": s, "threads": t} answers losses, standard errors and accuracies.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # the processes are what runs in parallel

import multiprocessing
import time

import numpy as np

import protocol

F = np.float32


def draw_contexts(rng, count, d, k, m):
    """Inputs count x k x m x d, queries count x d and their labels, by rejection as the paper has it."""
    prototypes = rng.standard_normal((count, k, d), dtype=F)
    prototypes /= np.linalg.norm(prototypes, axis=2, keepdims=True)
    points = np.empty((count, k, m + 1, d), F)
    filled = np.zeros((count, k), np.int64)
    left = np.arange(count)
    while left.size:
        x = rng.standard_normal((left.size, k * m, d), dtype=F)
        x /= np.sqrt(np.einsum("bnd,bnd->bn", x, x))[:, :, None]
        label = np.argmax(x @ prototypes[left].transpose(0, 2, 1), axis=2)
        ranks = np.cumsum(label[:, :, None] == np.arange(k), axis=1)
        place = np.take_along_axis(ranks, label[:, :, None], 2)[:, :, 0] - 1
        place += np.take_along_axis(filled[left], label, 1)
        which, point = np.nonzero(place < m + 1)
        points[left[which], label[which, point], place[which, point]] = x[which, point]
        filled[left] = np.minimum(filled[left] + ranks[:, -1], m + 1)
        left = left[(filled[left] < m + 1).any(axis=1)]
    label = rng.integers(k, size=count)
    return points[:, :, :m], points[np.arange(count), label, m], label


def scores_and_labels(rng, w, count):
    d, k, n = w["dimension"], w["classes"], w["context_length"]
    inputs, query, label = draw_contexts(rng, count, d, k, n // k)
    scores = np.matmul(inputs.reshape(count, n, d), query[:, :, None])[:, :, 0]
    return scores - scores.max(axis=1, keepdims=True), label


def arrays(rng, w, count, sums, squares, right):
    kappas, gains, k = np.array(w["kappas"], F), np.array(w["gains"], F), w["classes"]
    scores, label = scores_and_labels(rng, w, count)
    weights = np.exp(kappas[:, None] * scores[:, None, :])
    votes = weights.reshape(count, len(kappas), k, -1).sum(axis=3)
    votes /= votes.sum(axis=2, keepdims=True)
    right += (votes.argmax(axis=2) == label[:, None]).sum(axis=0)
    logits = votes[:, :, None, :] * gains[:, None]
    logits -= logits.max(axis=3, keepdims=True)
    own = np.take_along_axis(logits, label[:, None, None, None], axis=3)[..., 0]
    loss = np.log(np.exp(logits).sum(axis=3)) - own
    sums += loss.sum(axis=0)
    squares += (loss * loss).sum(axis=0)


def cache(rng, w, count, sums, squares, right):
    kappas, gains, k = np.array(w["kappas"], F), np.array(w["gains"], F), w["classes"]
    scores, label = scores_and_labels(rng, w, count)
    buffer = np.empty((len(kappas), len(gains)), F)
    total = np.empty_like(buffer)
    for b in range(count):
        weights = np.exp(kappas[:, None] * scores[b])
        votes = weights.reshape(len(kappas), k, -1).sum(axis=2)
        votes /= votes.sum(axis=1, keepdims=True)
        right += votes.argmax(axis=1) == label[b]
        votes -= votes.max(axis=1, keepdims=True)
        total.fill(0)
        for c in range(k):
            np.multiply(votes[:, c, None], gains, out=buffer)
            np.exp(buffer, out=buffer)
            np.add(total, buffer, out=total)
        np.log(total, out=total)
        np.multiply(votes[:, label[b], None], gains, out=buffer)
        np.subtract(total, buffer, out=total)
        sums += total
        np.multiply(total, total, out=total)
        squares += total


WAYS = {"arrays": (arrays, (4, 16, 64, 128)), "cache": (cache, (16, 64, 256, 1024))}


def share_of_process(work):
    """Sums of losses and of their squares over some contexts, and of right answers."""
    w, way, block, trials, seed = work
    rng = np.random.default_rng(seed)
    sums = np.zeros((len(w["kappas"]), len(w["gains"])))
    squares = np.zeros_like(sums)
    right = np.zeros(len(w["kappas"]))
    for done in range(0, trials, block):
        WAYS[way][0](rng, w, min(block, trials - done), sums, squares, right)
    return sums, squares, right


def run(pool, processes, w, way, block, trials, seed):
    share = -(-trials // processes)
    seeds = np.random.SeedSequence(seed).spawn(processes)
    parts = [(w, way, block, share, s) for s in seeds]
    parts = pool.map(share_of_process, parts) if pool else [share_of_process(parts[0])]
    n = share * processes
    sums, squares, right = (sum(part[i] for part in parts) for i in range(3))
    means = sums / n
    errors = np.sqrt((squares / n - means**2) / (n - 1))
    return n, means, errors, right / n


def make_works(w):
    pools, kept = {1: None}, {}

    def pool_of(processes):
        if processes not in pools:
            pools[processes] = multiprocessing.Pool(processes)
            pools[processes].map(len, [()] * processes)
        return pools[processes], processes

    def tune(order):
        way, (pool, processes), times = order["way"], pool_of(order["threads"]), {}
        for block in WAYS[way][1]:
            start = time.perf_counter()
            run(pool, processes, w, way, block, 256 * processes, 1)
            times[block] = time.perf_counter() - start
        kept[way] = min(times, key=times.get)
        return {"kept": f"blocks of {kept[way]} contexts", "tried": times}

    def grid(order):
        way, (pool, processes) = order["way"], pool_of(order["threads"])
        start = time.perf_counter()
        n, means, errors, right = run(pool, processes, w, way, kept.get(way, 64), order["trials"], order["seed"])
        return {"trials": n, "seconds": time.perf_counter() - start, "loss": means.ravel().tolist(),
                "standard_error": errors.ravel().tolist(), "accuracy": right.tolist()}

    return {"tune": tune, "grid": grid}


if __name__ == "__main__":
    protocol.serve("NumPy", np.__version__, "float32, default_rng, a process a core", make_works)
