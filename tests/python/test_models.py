"""Attention by a map in models of Transformers: softmax is the model's own attention, also padded and with a cache."""
import numpy
import pytest

from incontext import scoring
from test_export import small_model

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
import incontext.torch as ic_torch  # noqa: E402

register = ic_torch.register_attention
KINDS = ["gpt2", "llama", "bert"]


def outputs(model, implementation, **tokens):
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return model(**tokens)[0]


@pytest.fixture(autouse=True)
def registered():
    register("own softmax")
    register("ssmax", scoring.SSMax(0.43))


@pytest.mark.parametrize("kind", KINDS)
def test_softmax_is_the_models_own_attention(kind):
    model, tokens = small_model(kind, "eager", prompts=3)
    eager = outputs(model, "eager", **tokens)
    assert torch.allclose(outputs(model, "own softmax", **tokens), eager, atol=2e-5)
    assert not torch.allclose(outputs(model, "ssmax", **tokens), eager, atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_prompt_in_a_padded_batch_is_as_if_alone(kind, side):
    model, tokens = small_model(kind, "eager", prompts=2)
    mask = torch.ones(2, 48, dtype=torch.long)
    own = slice(18, 48) if side == "left" else slice(0, 30)
    mask[1] = 0
    mask[1, own] = 1
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    words = tokens["input_ids"]
    for name in "own softmax", "ssmax":
        batch = outputs(model, name, input_ids=words, attention_mask=mask, position_ids=positions)
        alone = outputs(model, name, input_ids=words[1:, own])
        assert torch.allclose(batch[1, own], alone[0], atol=2e-5)
        assert torch.isfinite(batch).all()


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_generation_with_a_cache_is_generation_without(kind):
    model, tokens = small_model(kind, "eager", prompts=2)
    options = dict(max_new_tokens=8, do_sample=False, pad_token_id=0, attention_mask=torch.ones(2, 48, dtype=torch.long))
    expected = model.generate(**tokens, **options)
    found = {}
    for name in "own softmax", "ssmax":
        model.set_attn_implementation(name)
        found[name], again = (model.generate(**tokens, use_cache=cache, **options) for cache in (True, False))
        assert torch.equal(found[name], again)
    assert torch.equal(found["own softmax"], expected)
    assert not torch.equal(found["ssmax"], expected)


def test_a_plan_multiplies_the_scores_of_each_head():
    model, tokens = small_model("llama", "eager", prompts=2)
    plan = numpy.linspace(0.5, 2, 12).reshape(3, 4)
    register("planned", inverse_temperature=plan)
    planned, eager = outputs(model, "planned", **tokens), outputs(model, "eager", **tokens)
    assert not torch.allclose(planned, eager, atol=1e-2)
    register("planned", inverse_temperature=numpy.ones((3, 4)))
    assert torch.allclose(outputs(model, "planned", **tokens), eager, atol=2e-5)
    for layer, betas in zip(model.model.layers, torch.as_tensor(plan, dtype=torch.float32)):
        layer.self_attn.q_proj.weight.data *= betas.repeat_interleave(8)[:, None]  # 8 components per head
    assert torch.allclose(planned, outputs(model, "eager", **tokens), atol=2e-5)


def test_layers_with_parameters_of_their_own_are_trained():
    model, tokens = small_model("gpt2", "eager")
    maps = [ic_torch.SSMax(num_heads=4, scale=0.3 + 0.1 * layer) for layer in range(2)]
    register("trained", maps)
    model.set_attn_implementation("trained")
    model(**tokens, labels=tokens["input_ids"]).loss.backward()
    for one in maps:
        assert one.scale.grad.shape == (4, 1, 1) and (one.scale.grad != 0).all()


def test_what_is_wrong_is_refused():
    model, tokens = small_model("gpt2", "eager")
    for name in "eager", "sdpa", "flash softmax", "a/b":
        with pytest.raises(ValueError, match=f"name is taken by Transformers or registered by others .value = '{name}'"):
            register(name)
    with pytest.raises(TypeError, match="map is no map .value = 'softmax'"):
        register("wrong", ["softmax"])
    with pytest.raises(TypeError, match="map is no map .value = <class"):
        register("wrong", scoring.SSMax)
    with pytest.raises(TypeError, match="name is no text .value = SSMax"):
        register(scoring.SSMax(0.4))
    for plan, message in ([1.0], "wrong number of dimensions .value = 1; needs 2"), ([[0.0]], "value = 0.0"), \
            ([[numpy.nan]], "value = nan"):
        with pytest.raises(ValueError, match=f"inverse_temperature has .*{message}"):
            register("wrong", inverse_temperature=plan)
    for options, message in (
        ({"map": [scoring.Softmax()]}, "map does not fit the layers of the model .value = 1; needs 2"),
        ({"map": [scoring.Softmax()] * 3}, "map does not fit the layers of the model .value = 3; needs 2"),
        ({"inverse_temperature": numpy.ones((1, 4))}, "inverse_temperature does not fit the layers"),
        ({"inverse_temperature": numpy.ones((2, 3))}, "does not fit the heads of the model .value = 3; needs 4"),
    ):
        register("wrong", **options)
        with pytest.raises(ValueError, match=message):
            outputs(model, "wrong", **tokens)
    capped = transformers.Gemma2Config(num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, hidden_size=32,
                                       intermediate_size=64, vocab_size=50, head_dim=8)
    with pytest.raises(ValueError, match="the model's attention has softcap"):
        outputs(transformers.Gemma2ForCausalLM(capped).eval(), "own softmax", **tokens)
    with pytest.raises(ValueError, match="the model's attention has chosen_keys"):
        attend = transformers.AttentionInterface()["own softmax"]
        one = torch.ones(1, 2, 3, 4)
        attend(model, one, one, one, None, chosen_keys=torch.zeros(1, 2, 3))
