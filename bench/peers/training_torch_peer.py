"""Training of one attention layer on the sphere task in PyTorch on the CPU: eager, autograd, torch.optim.Adam."""

import torch

import protocol


def loss_of(parameters, inputs, labels, query, query_label, work):
    """The mean cross entropy of a batch: inputs (b, n, d), labels (b, n), query (b, d), query_label (b)."""
    d, k = work["dimension"], work["classes"]
    width = d + k
    key_query, output = (parameters[i * width**2 :][: width**2].view(width, width).T for i in (0, 1))
    batch, n, _ = inputs.shape
    tokens = torch.zeros(batch, n + 1, width)
    tokens[:, :n, :d] = inputs
    tokens[:, n, :d] = query
    tokens[:, :n, d:].scatter_(2, labels[:, :, None], 1.0)
    scores = work["scale"] * torch.bmm(tokens, (tokens[:, n] @ key_query.T)[:, :, None])[:, :, 0]
    weights = scores / (n + 1) if work["scale"] == 1 else torch.softmax(scores, 1)
    logits = torch.bmm(weights[:, None], tokens)[:, 0] @ output.T[:, d:]
    return torch.nn.functional.cross_entropy(logits, query_label)


def make_check(work):
    contexts = work["check"]["contexts"]
    inputs = torch.tensor([c["inputs"] for c in contexts]).view(len(contexts), -1, work["dimension"])
    labels, query, query_label = (torch.tensor([c[key] for c in contexts]) for key in ("labels", "query", "query_label"))
    parameters = torch.tensor(work["parameters"], requires_grad=True)
    loss = loss_of(parameters, inputs, labels, query, query_label, work)
    loss.backward()
    return loss.detach(), parameters.grad


def draw(generator, work):
    """Points and prototypes uniform on the sphere; the label is the nearest prototype's."""
    d, k, n = work["dimension"], work["classes"], work["context_length"]
    points = torch.nn.functional.normalize(torch.randn(work["batch"], n + 1 + k, d, generator=generator), dim=2)
    inputs, prototypes = points[:, : n + 1], points[:, n + 1 :]
    labels = torch.bmm(inputs, prototypes.transpose(1, 2)).argmax(2)
    return inputs[:, :n], labels[:, :n], inputs[:, n], labels[:, n]


def make_train(work):
    def train(steps, seed, threads):
        torch.set_num_threads(threads)
        generator = torch.Generator().manual_seed(seed)
        parameters = torch.tensor(work["parameters"], requires_grad=True)
        adam = torch.optim.Adam([parameters], lr=work["rate"])
        total = 0.0
        for step in range(steps):
            with torch.no_grad():
                batch = draw(generator, work)
            adam.zero_grad()
            loss = loss_of(parameters, *batch, work)
            loss.backward()
            torch.nn.utils.clip_grad_norm_([parameters], 10.0)
            adam.step()
            if step >= steps - steps // 10:
                total += float(loss.detach())
        return total / (steps // 10)

    return train


if __name__ == "__main__":
    works = protocol.training(make_check, make_train)
    protocol.serve("PyTorch", torch.__version__, "eager, autograd, torch.optim.Adam", works)
