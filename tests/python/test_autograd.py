"""The maps in PyTorch and JAX, where they are installed."""
import numpy
import pytest

import incontext as ic

MAPS = [ic.scoring.Softmax(0.7), ic.scoring.SSMax(0.4, 0.1), ic.scoring.SSA(), ic.scoring.Entmax(1.5)]


@pytest.fixture
def scores():
    return numpy.random.default_rng(3).normal(size=(2, 3, 5))


@pytest.mark.parametrize("map", MAPS, ids=lambda map: type(map).__name__)
def test_torch(map, scores):
    torch = pytest.importorskip("torch")
    import incontext.torch

    z = torch.tensor(scores, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: incontext.torch.weights(map, t), (z,))
    half = incontext.torch.weights(map, z.detach().to(torch.bfloat16))
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize("map", MAPS, ids=lambda map: type(map).__name__)
def test_jax(map, scores):
    jax = pytest.importorskip("jax")
    import incontext.jax

    z = scores.astype("float32")
    cotangent = numpy.linspace(-1, 1, z.size, dtype="float32").reshape(z.shape)
    loss = lambda x: (incontext.jax.weights(map, x) * cotangent).sum()  # noqa: E731
    assert numpy.allclose(jax.grad(loss)(z), map.vjp(z, cotangent), atol=1e-6)
    assert numpy.allclose(jax.jit(jax.grad(loss))(z), map.vjp(z, cotangent), atol=1e-6)
    assert numpy.allclose(jax.vmap(lambda x: incontext.jax.weights(map, x))(z), map(z), atol=1e-6)


@pytest.mark.parametrize("name", ["torch", "jax.numpy"])
def test_calibrate_takes_their_arrays(name):
    module = pytest.importorskip(name)
    scores = numpy.random.default_rng(4).normal(size=(2, 32, 64)).astype("float16")
    array = module.asarray(scores)
    if name == "torch":
        with pytest.raises(ValueError, match="torch.bfloat16"):
            ic.calibrate(array.to(module.bfloat16))
    else:
        narrow = array.astype("bfloat16")
        assert ic.calibrate(narrow).heads[0].entropy == ic.calibrate(numpy.asarray(narrow, "float32")).heads[0].entropy
    assert [head.entropy for head in ic.calibrate(array).heads] == [head.entropy for head in ic.calibrate(scores).heads]
