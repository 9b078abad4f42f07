"""The scripts of docs/calibrate.md that export scores: their softmax is the weights that the models return."""
import pathlib
import re

import numpy
import pytest

import incontext as ic

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/calibrate.md"
LOAD, LOGARITHMS, DEFINE, SAVE = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
torch = pytest.importorskip("torch", reason="torch is not installed")


def softmax(scores):
    return torch.softmax(torch.as_tensor(numpy.asarray(scores, "float32")), dim=-1).numpy()


def run(script, **names):
    exec(script, names)  # noqa: S102
    return names


def small_model(kind, implementation):
    """A model of random weights, large enough that its rows are not even, and a prompt; no file is read."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(1)
    own = dict(attn_implementation=implementation, initializer_range=0.3)
    if kind == "gpt2":
        config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=50, n_positions=64, **own)
        model = transformers.GPT2LMHeadModel(config)
    elif kind == "llama":  # two heads share keys, positions rotate them
        config = transformers.LlamaConfig(num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                                          hidden_size=32, intermediate_size=64, vocab_size=50, **own)
        model = transformers.LlamaForCausalLM(config)
    else:  # every token sees every other, but for padding
        config = transformers.BertConfig(num_hidden_layers=2, num_attention_heads=4, hidden_size=32,
                                         intermediate_size=64, vocab_size=50, **own)
        model = transformers.BertModel(config)
    tokens = {"input_ids": torch.randint(0, 50, (1, 48))}
    if kind == "bert":
        tokens["attention_mask"] = (torch.arange(48) < 40)[None].long()
    return model.eval(), tokens


def weights_of(model, tokens):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return torch.cat(model(**tokens, output_attentions=True).attentions).numpy()


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_the_weights_logarithms(kind, tmp_path, monkeypatch):
    model, tokens = small_model(kind, "eager")
    monkeypatch.chdir(tmp_path)
    scores = run(LOGARITHMS, np=numpy, torch=torch, model=model, tokens=tokens)["scores"]
    weights = weights_of(model, tokens)
    assert scores.shape == weights.shape and weights.std() > 0.01
    assert softmax(scores) == pytest.approx(weights, abs=2e-6)
    saved = numpy.load(tmp_path / "scores.npy")
    assert saved.dtype == numpy.float16 and softmax(saved) == pytest.approx(weights, abs=2e-3)
    assert (numpy.isinf(saved) == (weights == 0)).all()
    assert ic.calibrate(saved).entropy.shape == weights.shape[:2]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_the_scores_themselves(kind, tmp_path, monkeypatch):
    model, tokens = small_model(kind, "sdpa")
    monkeypatch.chdir(tmp_path)
    names = run(DEFINE)
    found = run(SAVE, np=numpy, torch=torch, model=model, tokens=tokens, saved_scores=names["saved_scores"])
    scores, weights = found["scores"], weights_of(model, tokens)
    assert scores.shape == weights.shape and (numpy.load(tmp_path / "scores.npy") == scores).all()
    assert softmax(scores) == pytest.approx(weights, abs=2e-5)
    visible = weights > 0
    logs = numpy.log(numpy.where(visible, weights, 1))
    constants = numpy.where(visible, scores - logs, numpy.nan)
    assert numpy.nanmax(constants, axis=-1) - numpy.nanmin(constants, axis=-1) == pytest.approx(0, abs=1e-3)
    assert abs(softmax(1.1 * scores) - weights).max() > 0.01, "scores of another scale have other weights"
    assert ic.calibrate(scores).head(0, 0).lengths[-1].longest_row == (40 if kind == "bert" else 48)
    # the next run of the model is not recorded
    with torch.no_grad():
        model(**tokens)
    assert len(found["layers"]) == len(weights)


@pytest.mark.parametrize("causal", [False, True])
def test_multihead_attention_of_torch(causal):
    saved_scores = run(DEFINE)["saved_scores"]
    torch.manual_seed(2)
    attention = torch.nn.MultiheadAttention(32, 4, batch_first=True).eval()
    tokens = 3 * torch.randn(1, 40, 32)
    mask = torch.triu(torch.ones(40, 40, dtype=torch.bool), 1) if causal else None
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        layers = []
        with torch.no_grad(), saved_scores(layers):
            without = attention(tokens, tokens, tokens, attn_mask=mask, need_weights=False, is_causal=causal)[0]
        with torch.no_grad():
            with_weights, weights = attention(tokens, tokens, tokens, attn_mask=mask, average_attn_weights=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    assert torch.allclose(without, with_weights, atol=1e-5), "attention itself is unchanged"
    (scores,) = layers
    assert softmax(scores.numpy()) == pytest.approx(weights[0].numpy(), abs=1e-5)
    assert ic.calibrate(scores.numpy()).entropy.shape == (1, 4)


@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "added"])
def test_scaled_dot_product_attention_of_torch(mask):
    saved_scores = run(DEFINE)["saved_scores"]
    torch.manual_seed(3)
    query, key, value = (2 * torch.randn(2, 4, 24, 8) for _ in range(3))
    seen = torch.rand(2, 1, 24, 24) < 0.7
    seen[..., 0] = True
    options = {"none": {}, "causal": {"is_causal": True}, "boolean": {"attn_mask": seen, "scale": 0.2},
               "added": {"attn_mask": torch.where(seen, 0.5, -torch.inf)}}[mask]
    layers = []
    attend = torch.nn.functional.scaled_dot_product_attention
    with saved_scores(layers):
        found = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
    assert torch.nn.functional.scaled_dot_product_attention is attend
    assert torch.equal(found, attend(query, key, value, **options))
    weights = torch.softmax(layers[0], dim=-1)
    assert torch.allclose(weights @ value[0], found[0], atol=1e-5)
