"""The protocol between bench/compare_training and a peer: one JSON object per line, in on stdin, out on stdout.

The first line in is the workload of bench/peers/training.cpp. The peer answers with what it is and, for each work, the
loss and the gradient of the workload's contexts. Every line after it is an order:

  {"work": "linear" | "softmax", "steps": n, "seed": s, "threads": t} -> seconds, the mean loss of the last tenth

All peers train the same layer: the logits are the last k rows of P sum_j a_j e_j, with a = scores / n or
softmax(scores), scores = scale e_j^T M e_q, tokens e_j = (x_j; y_j) and, as the last key, e_q = (x; 0). The parameters
are M and P, each by columns. They draw contexts whose classes are not balanced, which is less work than balanced ones.
"""

import json
import sys
import time


def serve(name, version, how, make_check, make_train):
    """make_check(work) -> (loss, gradient); make_train(work) gives train(steps, seed, threads) -> loss."""
    workload = json.loads(sys.stdin.readline())
    checks, trains = {}, {}
    for key, work in workload.items():
        loss, gradient = make_check(work)
        checks[key] = {"loss": float(loss), "gradient": [float(x) for x in gradient]}
        trains[key] = make_train(work)
    print(json.dumps({"name": name, "version": version, "how": how, "checks": checks}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        start = time.perf_counter()
        loss = trains[order["work"]](order["steps"], order["seed"], order["threads"])
        print(json.dumps({"seconds": time.perf_counter() - start, "loss": loss}), flush=True)
