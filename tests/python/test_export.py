"""The scripts of docs/calibrate.md that export scores: their softmax is the weights that the models return."""
import pathlib
import re
import types

import numpy
import pytest

import incontext as ic

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/calibrate.md"
LOAD, WEIGHTS, DEFINE, SAVE, LONGER = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
torch = pytest.importorskip("torch", reason="torch is not installed")


def softmax(scores):
    return torch.softmax(torch.as_tensor(numpy.asarray(scores, "float32")), dim=-1).numpy()


def run(script, **names):
    exec(script, names)  # noqa: S102
    return names


def small_model(kind, implementation, prompts=1):
    """A model of random weights, large enough that its rows are not even, and prompts; no file is read."""
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
    tokens = {"input_ids": torch.randint(0, 50, (prompts, 48))}
    if kind == "bert":
        tokens["attention_mask"] = (torch.arange(48) < torch.tensor([[48]] + [[40]] * (prompts - 1))).long()
    return model.eval(), tokens


def weights_of(model, tokens):
    """layers x prompts x heads x queries x keys."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return torch.stack(model(**tokens, output_attentions=True).attentions).numpy()


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_the_weights_of_a_model_in_one_call(kind):
    model, tokens = small_model(kind, "eager", prompts=6)
    report = run(WEIGHTS, torch=torch, model=model, tokens=tokens)["report"]
    weights = weights_of(model, tokens)
    assert report.entropy.shape == (len(weights), 4) and (report.prompts == 6).all()
    visible = [40 if kind == "bert" and prompt > 0 else 48 for prompt in range(6)]
    last = report.head(1, 2).lengths[-1]
    entropies = []
    for prompt, length in enumerate(visible):
        own = weights[1, prompt, 2, :length, :length]
        counted = own[(own > 0).sum(axis=-1) > 32]
        entropies.append(-(counted * numpy.log(counted, where=counted > 0, out=numpy.zeros_like(counted))).sum(axis=-1).mean())
    assert last.entropy == pytest.approx(numpy.mean(entropies), rel=1e-5)
    assert last.entropy_error == pytest.approx(numpy.std(entropies, ddof=1) / 6**0.5, rel=1e-3)
    assert len(report.advice()) == 4 * len(weights)


def test_weights_of_several_prompts_are_no_layers():
    """The tuple, and not what torch.cat makes of it, which would be 6 layers of a model of 2 with 3 prompts."""
    model, tokens = small_model("gpt2", "eager", prompts=3)
    with torch.no_grad():
        attentions = model(**tokens, output_attentions=True).attentions
    from_weights = ic.calibration.from_weights
    assert from_weights(attentions).entropy.shape == (2, 4)
    assert from_weights(list(attentions)).heads == from_weights(tuple(one.numpy() for one in attentions)).heads
    half = from_weights(tuple(one.bfloat16() for one in attentions))
    assert half.score_stddev == pytest.approx(from_weights(attentions).score_stddev, rel=0.02)
    dropped = torch.nn.functional.dropout(attentions[1], 0.2)
    mask = torch.ones(3, 48)
    for given, options, message in (
        (torch.cat(attentions), {}, r"no tuple over layers .value = 6 x 4 x 48 x 48; .*torch.cat makes layers of prompts"),
        ((), {}, "attentions is empty"),
        ((None, None), {}, 'layer 0 has no weights .value = None; .*attn_implementation="eager"'),
        (tuple(one[0] for one in attentions), {}, "layer 0 has the wrong number of dimensions .value = 3; needs 4"),
        ((attentions[0], attentions[1][:2]), {}, "layer 1 has another shape than layer 0"),
        ((attentions[0], dropped), {}, "layer 1: the rows do not sum to 1.* .value = [^1].*model.eval"),
        ((attentions[0].log(),), {}, "layer 0: the rows do not sum to 1"),
        ((attentions[0].long(),), {}, None),
        (attentions, {"attention_mask": mask[:2]}, r"attention_mask does not fit .value = \(2, 48\)"),
    ):
        with pytest.raises(ValueError, match=message):
            from_weights(given, **options)
    with pytest.raises(ValueError, match="tuple of arrays does not say of what .value = 2 arrays.*from_weights"):
        ic.calibrate(attentions)


def test_padded_prompts_have_lengths_of_their_own():
    """Left and right padding: each prompt is measured as if it were alone."""
    model, tokens = small_model("gpt2", "eager", prompts=3)
    mask = torch.ones(3, 48, dtype=torch.long)
    mask[1, 30:] = 0
    mask[2, :20] = 0
    with torch.no_grad():
        attentions = model(**tokens, attention_mask=mask, output_attentions=True).attentions
    report = ic.calibration.from_weights(attentions, attention_mask=mask)
    with numpy.errstate(divide="ignore"):
        logs = [numpy.log(torch.stack(attentions)[:, prompt].numpy()) for prompt in range(3)]
    alone = ic.calibrate(prompts=[logs[0], logs[1][:, :, :30, :30], logs[2][:, :, 20:, 20:]])
    assert report.heads == alone.heads
    assert report.head(0, 0).lengths[-1].rows == 16 and report.heads[0].prompts == 3


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_the_scores_themselves(kind, tmp_path, monkeypatch):
    model, tokens = small_model(kind, "sdpa", prompts=2)
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
    report = ic.calibrate(scores)
    assert report.entropy.shape == (len(weights), 4) and (report.prompts == 2).all()
    assert report.head(0, 0).lengths[-1].longest_row == 48
    # the next run of the model is not recorded
    with torch.no_grad():
        model(**tokens)
    assert len(found["layers"]) == len(weights)


def test_prompts_of_two_lengths_are_forecast(capsys):
    model, _ = small_model("bert", "sdpa")
    words = {str(text): torch.randint(0, 50, (1, 70)) for text in range(12)}
    report = run(LONGER, incontext=ic, torch=torch, model=model, texts=list(words), saved_scores=run(DEFINE)["saved_scores"],
                 tokenizer=lambda text, return_tensors: types.SimpleNamespace(input_ids=words[text]))["report"]
    assert capsys.readouterr().out.strip() == str(report.forecast(512)).strip()
    assert [(one.layer, one.head) for one in report.forecast(512)] == [(layer, head) for layer in range(2) for head in range(4)]
    for one in report.forecast(512):
        assert 0 < one.entropy.low <= one.entropy.value <= one.entropy.high
        assert one.entropy.value < numpy.log(512)


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
    assert softmax(scores.numpy()) == pytest.approx(weights.numpy(), abs=1e-5)
    assert ic.calibrate(scores[0].numpy()).entropy.shape == (1, 4)


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
    assert torch.allclose(weights @ value, found, atol=1e-5)
