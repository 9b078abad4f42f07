"""What PyTorch and JAX have in common, where they are installed."""
import numpy
import pytest

import incontext as ic


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
