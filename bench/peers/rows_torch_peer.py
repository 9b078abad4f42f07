"""PyTorch's side of the workloads rows and arrays of bench/compare: softmax of the rows of a matrix into one that is
there, its fused attention, and their backward passes. The backward pass of softmax has the weights, which ours computes
again, and writes into a matrix that is there, too: to allocate one takes several times as long."""

import torch

import protocol

torch.set_grad_enabled(False)
attention = torch.nn.functional.scaled_dot_product_attention


def softmax_vjp(along, weights, to):
    return torch.ops.aten._softmax_backward_data.out(along, weights, -1, torch.float32, grad_input=to)


def row_of(order):
    row = torch.tensor(order["scores"])
    weights = torch.softmax(row, -1)
    return {"weights": weights.tolist(), "vjp": softmax_vjp(row, weights, torch.empty_like(row)).tolist()}


def make_works(workload):
    generator, length = torch.Generator().manual_seed(1), workload["length"]
    scores, cotangent = torch.randn((2, length, length), generator=generator)
    out = torch.softmax(scores, -1)
    pulled = torch.empty_like(scores)
    *inputs, output_cotangent = torch.randn((4, *workload["attention"]), generator=generator)

    def forward_and_backward():
        """Fused attention and the gradients by queries, keys and values."""
        with torch.enable_grad():
            leaves = [matrix.detach().requires_grad_() for matrix in inputs]
            return torch.autograd.grad(attention(*leaves), leaves, output_cotangent)

    def softmax_and_vjp():
        torch.softmax(scores, -1, out=out)
        softmax_vjp(cotangent, out, pulled)

    def output_of(order):
        given = [torch.tensor(numbers).view(workload["attention"]) for numbers in
                 protocol.attention_inputs(workload["attention"])]
        return {"output": attention(*given).flatten()[::protocol.STRIDE].tolist()}

    functions = {
        "softmax": lambda: torch.softmax(scores, -1, out=out),
        "softmax vjp": lambda: softmax_vjp(cotangent, out, pulled),
        "softmax and vjp": softmax_and_vjp,
        "fused attention": lambda: attention(*inputs),
        "fused attention and backward": forward_and_backward,
    }
    try:
        import entmax

        functions["entmax 1.5"] = lambda: entmax.entmax15(scores, -1)
    except ImportError:
        pass

    def with_threads(work):
        def call(order):
            torch.set_num_threads(order["threads"])
            return work(order)

        return call

    works = {name: with_threads(work) for name, work in protocol.timed(functions).items()}
    return {**works, "row": row_of, "output": output_of}


if __name__ == "__main__":
    protocol.serve("PyTorch", torch.__version__, torch.backends.cpu.get_cpu_capability(), make_works)
