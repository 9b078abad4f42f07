#include "examples/verify/claim.hpp"

namespace incontext::examples::verify {

namespace {

const std::string gradients_trial = "cuda/incontext/simulate/gradient_norms.hpp";
const std::string flow = "include/incontext/laws/gradient_flow.hpp";

}  // namespace

std::vector<Claim> normsoftmax_claims() {
  return {
      {.id = "normsoftmax/temperature-rule",
       .place = "Section 3, eq. 1",
       .statement =
           "The root of d_k is the standard deviation of a query's product with a key of independent standard entries.",
       .found = "It is; the product is not normal, its fourth moment is 3 d_k^2 + 6 d_k.",
       .equation = "Var(q . k) = d_k, E (q . k)^4 = 3 d_k^2 + 6 d_k",
       .headers = {"include/incontext/scoring/softmax.hpp"},
       .docs = "docs/theory/laws.md#scores-of-random-queries-and-keys",
       .simulator = gradients_trial,
       .commands = {"gradients-ends"},
       .evidence = {{"Scores q . k"}},
       .controls = {control("statement", "q . k is normal")}},
      {.id = "normsoftmax/vanishing-jacobian",
       .place = "Section 3",
       .statement = "The entries of softmax' Jacobian vanish for even and for peaked attention.",
       .found = "By scores over the temperature, the Jacobian's mean square is small at both ends. By the raw scores "
                "it grows without end in frozen rows, to 12.4 at a standard deviation of 16 over the temperature, "
                "because rare near ties carry the mean.",
       .equation = "E |P|_F^2, P = diag(a) - a a^T",
       .headers = {"include/incontext/laws/two_level_jacobian.hpp", "include/incontext/scoring/jacobian_norms.hpp",
                   "include/incontext/laws/gaussian_row.hpp"},
       .docs = "docs/theory/laws.md#two-level-jacobian",
       .simulator = gradients_trial,
       .commands = {"gradients-ends"},
       .evidence = {{"Jacobian of softmax"}},
       .controls = {control("statement", "|P|^2")},
       .expected = Outcome::refined},
      {.id = "normsoftmax/figure-5",
       .place = "Fig. 5",
       .statement = "The gradient of W_K is smaller than that of W_V by half an order of magnitude to one, and not so "
                    "at a low temperature.",
       .found = "At initialization the ratio is 0.135 at the usual temperature and 1.63 at 1/3 (197 tokens, d = 256).",
       .equation = "R = x sqrt((E_par/d + (1 - 1/d) E_perp)/((d - 1) Y_2 + E M^2))",
       .headers = {flow},
       .docs = "docs/theory/laws.md#gradient-flow",
       .simulator = gradients_trial,
       .commands = {"gradients"},
       .evidence = {{"Gradient of W_K"}, {"Mean squared"}},
       .controls = {control("statement", "the annealed"), control("statement", "R = x")}},
      {.id = "normsoftmax/figure-5-queries",
       .place = "Fig. 5",
       .statement = "The gradient of W_Q is as small as that of W_K.",
       .found = "It is, up to a relative difference of order 1/d_k, which simulations resolve.",
       .equation = "(R_Q/R)^2 = 1 - 1/d_k + E_par/(d_k E_iso)",
       .headers = {flow},
       .docs = "docs/theory/laws.md#gradient-flow",
       .simulator = gradients_trial,
       .commands = {"gradients-queries"},
       .evidence = {{"Gradients of W_Q"}},
       .controls = {control("statement", "W_Q")}},
      {.id = "normsoftmax/frozen-rows",
       .place = "Section 3",
       .statement = "Attention that is too peaked makes gradients vanish.",
       .found = "The root mean square of W_K's gradient over that of W_V's, which is what is judged, grows to 5.4 at a "
                "standard deviation of the scores of 32 times the temperature, because rare near ties of two scores "
                "carry it. The gradient of a typical row does vanish: the median of a row's ratio is about 0.01 there, "
                "which "
                "incontext-gradients prints and nothing judges.",
       .equation = "R = x sqrt((E_par/d + (1 - 1/d) E_perp)/((d - 1) Y_2 + E M^2))",
       .headers = {flow, "include/incontext/laws/frozen_imbalance.hpp"},
       .docs = "docs/theory/laws.md#frozen-imbalance",
       .simulator = gradients_trial,
       .commands = {"gradients-frozen"},
       .evidence = {{"Gradient of W_K"}, {"Mean squared"}},
       .controls = {control("statement", "the annealed")},
       .expected = Outcome::refined},
      {.id = "normsoftmax/figure-3",
       .place = "Figs. 3, 4",
       .statement = "The gradient of W_K comes mostly from tokens that are already attended to.",
       .found = "Tokens whose scores are lower by 2 have a share of 0.118 in the weights and of 0.018 in the squared "
                "gradient, so that less attention also means less learning.",
       .equation = "F_G = E sum_(j in G) a_j^2 (1 - 2 a_j + sum_k a_k^2)",
       .headers = {"include/incontext/laws/two_group_row.hpp"},
       .docs = "docs/theory/laws.md#two-groups",
       .simulator = gradients_trial,
       .commands = {"gradients-groups"},
       .evidence = {{"Two groups"}},
       .controls = {control("statement", "gradients shared")}},
      {.id = "normsoftmax/equation-2",
       .place = "eq. 2",
       .statement =
           "NormSoftmax divides by the standard deviation of the scores, if that is less than the usual temperature.",
       .found = "It is invariant to the scores' scale, and so bounds the largest weight: one score above n - 1 equal "
                "ones attains the bound, least at n = 7 with 0.744. With the divisor n - 1 the bound is another.",
       .equation = "a = softmax(z/min(sd z, tau)), max a <= 1/(1 + (n - 1) e^(-n/sqrt(n - 1)))",
       .headers = {"include/incontext/scoring/normsoftmax.hpp", "include/incontext/scoring/normsoftmax_divisor.hpp"},
       .docs = "docs/theory/scoring.md#normsoftmax",
       .commands = {"scores-normsoftmax"},
       .evidence = {relation("one spike"), relation("no random"), relation("the bound")},
       .controls = {relation("control")},
       .curves = {"The largest weight", "n", {"bound", "bound_sample", "best_random_row"}, "largest weight"}},
      {.id = "normsoftmax/gradients",
       .place = "Section 3, Fig. 5",
       .statement = "NormSoftmax keeps the gradients of W_K and W_V alike, whatever the scores' scale.",
       .found =
           "The ratio is 0.98 at initialization at every scale from 1/4 to 64, where softmax' goes from 0.03 to 2.5.",
       .equation = "dS = B X h/sd z, B = (I - u u^T/n) P, u = (z - mean z)/sd z",
       .headers = {"include/incontext/laws/normsoftmax_gradient_flow.hpp"},
       .docs = "docs/theory/laws.md#normsoftmax-gradients",
       .simulator = gradients_trial,
       .commands = {"gradients-normsoftmax"},
       .evidence = {{"NormSoftmax"}},
       .controls = {control("statement", "R = x"), control("statement", "the annealed")}},
      {.id = "normsoftmax/heat-treatment",
       .place = "Section 3, Heat Treatment",
       .statement =
           "Training starts at a low temperature that rises to the usual one, so that gradients are alike early.",
       .found = "At initialization the ratio falls from 1.63 to 0.135 along the schedule, which in the public code is "
                "half a cosine in the inverse temperature.",
       .equation = "1/tau from 1/tau_0 to 1/sqrt(d_k) along half a cosine",
       .headers = {"include/incontext/scoring/heat_schedule.hpp", flow},
       .docs = "docs/theory/scoring.md#heat-treatment",
       .simulator = gradients_trial,
       .commands = {"gradients-schedule"},
       .evidence = {{"Heat Treatment"}, {"Mean squared"}},
       .controls = {control("statement", "R = x"), control("statement", "the annealed")}},
      {.id = "normsoftmax/reasoning-chance",
       .place = "Section 4, reasoning task",
       .statement = "Without the parities an answer is right in 6 of 11 cases.",
       .found = "The best answer without the parities is always d, the likelier of the two: it is right with "
                "probability 0.5492, and 6/11 = 0.5455 is rejected.",
       .equation = "P(d is right) = 1 - P + P/m = 731/1331, P = 60/121, m = 11",
       .headers = {"include/incontext/training/reasoning_task.hpp"},
       .docs = "docs/theory/training.md#reasoning-task",
       .simulator = "cuda/incontext/simulate/task_streams.hpp",
       .commands = {"tasks"},
       .evidence = {{"Reasoning"}},
       .paper_says = {control("statement", "the best answer without")},
       .controls = {control("statement", "plateau h(P)")},
       .expected = Outcome::refuted},
      {.id = "normsoftmax/eureka-moments",
       .place = "Section 4, Fig. 7a",
       .statement = "Transformers stay on a plateau before they suddenly learn the reasoning task.",
       .found = "A transformer of one block does: its loss on the plateau is that of a model that answers by a coin in "
                "place of the parities. NormSoftmax takes fewer steps than softmax.",
       .equation = "(1 - 1/m) h(P) = 0.6301 nats, P = 60/121, m = 11",
       .headers = {"include/incontext/training/reasoning_transformer.hpp",
                   "include/incontext/training/reasoning_measurement.hpp"},
       .docs = "docs/theory/training.md#reasoning-transformer",
       .simulator = "cuda/incontext/train/reasoning.hpp",
       .commands = {"train-reasoning"},
       .evidence = {{"The plateau"}},
       .controls = {control("statement", "plateau h(P)"), control("statement", "a Eureka moment")}},
      {.id = "normsoftmax/vision",
       .place = "Figs. 1, 2, 6, 8 to 12, Tables 1, 2, vision",
       .statement = "Vision transformers and RoBERTa have Eureka moments, and the remedies make them earlier.",
       .found = "",
       .expected = Outcome::out_of_reach,
       .reason = "needs image data and the training of vision transformers and of RoBERTa"},
  };
}

}  // namespace incontext::examples::verify
