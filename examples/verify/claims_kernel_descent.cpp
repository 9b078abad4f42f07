#include "examples/verify/claim.hpp"

namespace incontext::examples::verify {

namespace {

const std::string constructions = "include/incontext/classification/context_constructions.hpp";
const std::string descent = "include/incontext/classification/context_descent.hpp";
const std::string attention_trial = "cuda/incontext/simulate/context_attention.hpp";
const std::string adaptive_step = "p = softmax(c sum_j a_j y_j), a_j = e^(kappa x_j . x) / sum_i e^(kappa x_i . x)";
const std::string training = "cuda/incontext/train/context_attention.hpp";

Rows referee(const std::string& rule) { return {"Referee", {{"rule", rule}}}; }

}  // namespace

std::vector<Claim> kernel_descent_claims() {
  return {
      {.id = "kernel-descent/proposition-3.1",
       .place = "Proposition 3.1, eq. 1, App. D",
       .statement = "Linear attention with constructed weights is one step of gradient descent on a linear classifier.",
       .found = "Attention, run token by token, has the margins that theory has for the step; weights whose rate is "
                "10% larger are rejected.",
       .equation = "p = softmax((eta/n) sum_j (x_j . x) y_j)",
       .headers = {constructions, descent},
       .docs = "docs/theory/classification.md#constructions",
       .simulator = attention_trial,
       .commands = {"classify-4"},
       .evidence = {referee("linear")},
       .controls = {control("theory", "no difference of predictions"), control("theory", "mean square")}},
      {.id = "kernel-descent/proposition-3.2",
       .place = "Proposition 3.2, eq. 2, App. E",
       .statement =
           "Attention with a kernel in the place of softmax is one step of kernel gradient descent, for every kernel.",
       .found = "It holds for the exponential kernel, token by token, and for a polynomial kernel that the user "
                "supplies, both as the attention's activation and as linear attention over the kernel's features.",
       .equation = "p = softmax((eta/n) sum_j K(x_j, x) y_j)",
       .headers = {constructions, "include/incontext/classification/any_kernel.hpp"},
       .docs = "docs/theory/classification.md#polynomial-kernel",
       .simulator = attention_trial,
       .commands = {"classify-laws", "classify-4"},
       .evidence = {referee("kernel"), {"A kernel of one's own"}},
       .controls = {control("theory", "votes of"), control("theory", "mean square")}},
      {.id = "kernel-descent/equation-3",
       .place = "eq. 3, App. F",
       .statement = "Softmax attention is a step of kernel gradient descent whose rate adapts to the context: it is "
                    "divided by the query's partition function.",
       .found = "Attention, token by token, has the margins of that step. Whether the query is one of its own keys "
                "matters in low dimension: the step that leaves it out is rejected.",
       .equation = adaptive_step,
       .headers = {constructions, descent},
       .docs = "docs/theory/classification.md#steps",
       .simulator = attention_trial,
       .commands = {"classify-5"},
       .evidence = {referee("softmax")},
       .controls = {control("theory", "no difference of predictions"), control("theory", "margin")}},
      {.id = "kernel-descent/adaptive-rate",
       .place = "Section 3.3, eq. 3",
       .statement = "The adaptive rate is the inverse of the kernel density at the query.",
       .found = "The means of the inverse, of the sum of squared weights and of the largest weight have exact laws at "
                "any context length; one over the mean density is rejected.",
       .equation =
           "E Z^-m = int t^(m - 1)/Gamma(m) phi(t)^n dt, phi(t) = E e^(-t w), w = e^(kappa (u . x - 1)), Z = sum_j w_j",
       .headers = {"include/incontext/classification/inverse_partition_function.hpp",
                   "include/incontext/classification/largest_weight.hpp"},
       .docs = "docs/theory/classification.md#inverse-partition-function",
       .simulator = "cuda/incontext/simulate/classification_partition_function.hpp",
       .commands = {"classify-laws"},
       .evidence = {{"Independent points"}},
       .controls = {control("theory", "E 1/Z"), control("theory", "E sum")}},
      {.id = "kernel-descent/balanced-cells",
       .place = "Section 2.1, eq. 3",
       .statement = "A query spreads its attention over the classes of its context.",
       .found = "On the circle the mean attention on the query's own class has an exact law at every context length; "
                "its limit of long contexts is rejected.",
       .equation = "E Z_c/Z = m int psi_c phi_c^(m - 1) prod_(b != c) phi_b^m dt, phi_c = E[e^(-t w) | c], psi_c = E[w "
                   "e^(-t w) | c]",
       .headers = {"include/incontext/classification/circle_attention.hpp",
                   "include/incontext/classification/circle_cells.hpp"},
       .docs = "docs/theory/classification.md#attention-on-the-circle",
       .simulator = "cuda/incontext/simulate/classification_partition_function.hpp",
       .commands = {"classify-laws"},
       .evidence = {{"Balanced cells"}},
       .controls = {control("theory", "Var Z"), control("theory", "attention on y")}},
      {.id = "kernel-descent/figure-4",
       .place = "Figs. 4, 12, App. G",
       .statement = "Trained linear attention becomes one step of gradient descent.",
       .found = "From random weights it arrives at the loss of the best step.",
       .equation = "p = softmax((eta/n) sum_j (x_j . x) y_j)",
       .headers = {constructions},
       .docs = "docs/theory/training.md#context-layers",
       .simulator = training,
       .commands = {"train-rules"},
       .evidence = {{"Trained linear"}},
       .controls = {control("rule", "a step")}},
      {.id = "kernel-descent/figure-5",
       .place = "Figs. 5, 13, App. J",
       .statement = "Trained softmax attention becomes the context-adaptive step.",
       .found = "From random weights it arrives at the loss of the best step that selects, or of one that eliminates.",
       .equation = adaptive_step,
       .headers = {constructions},
       .docs = "docs/theory/training.md#context-layers",
       .simulator = training,
       .commands = {"train-17"},
       .evidence = {{"Selection and elimination"}},
       .controls = {control("rule", "four times")}},
      {.id = "kernel-descent/figure-6",
       .place = "Fig. 6",
       .statement = "At d = 2 the linear rule cannot follow the boundaries of the cells, and the kernel rules can.",
       .found = "The share of the circle on which a rule is right, averaged over contexts, is its accuracy at one "
                "random query. That the linear rule's share is softmax' accuracy is rejected.",
       .equation = adaptive_step,
       .headers = {descent},
       .docs = "docs/theory/classification.md#steps",
       .simulator = "cuda/incontext/simulate/classification.hpp",
       .commands = {"classify-6"},
       .evidence = {{"The share that is right"}},
       .controls = {control("theory", "softmax' accuracy")}},
      {.id = "kernel-descent/figure-7",
       .place = "Fig. 7, Table 1",
       .statement = "At every context length softmax is better than the kernel step, the kernel step better than "
                    "softmax of a fixed width, and that better than the linear rule.",
       .found =
           "The order depends on dimension and context length: it holds from n = 20 on at d = 2, from n = 100 at d = "
           "3, and at d = 5 at n = 400 but not at 20. The kernel step has softmax' accuracy and a larger loss.",
       .equation = adaptive_step,
       .headers = {descent},
       .docs = "docs/theory/classification.md#onset",
       .simulator = attention_trial,
       .commands = {"classify-7"},
       .evidence = {{"Attention, token by token"}},
       .controls = {control("theory", "softmax has"), control("theory", "entropy")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/figure-7-trained",
       .place = "Fig. 7, Table 1",
       .statement = "Trained models reach the losses of Figure 7.",
       .found =
           "At d = 3, n = 25 trained layers have the loss of the best rule of their kind. In long contexts of low "
           "dimension 2500 steps do not arrive: at d = 3, n = 1000 softmax ends at kappa = 19 with a loss of 0.160, "
           "and the best rule has kappa = 113 and 0.115 (bench/results/trained-classification.md).",
       .equation = adaptive_step,
       .headers = {constructions},
       .docs = "docs/theory/training.md#context-layers",
       .simulator = training,
       .commands = {"train-7"},
       .evidence = {{"Trained models"}},
       .controls = {control("rule", "a step twice"), control("rule", "twice the best"), control("rule", "four times")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/onset",
       .place = "Fig. 7",
       .statement = "A kernel helps at every context length that the figure shows.",
       .found = "For five classes it helps from a length on that grows with the square of the dimension, 4.80 d^2 in "
                "the limit. For two classes there is no such length, because the slope of the loss at concentration 0 "
                "is 0 at every n.",
       .equation =
           "dL/dkappa at kappa = 0: (zeta/2) E sum_c (p_c - y_c) Q_c, Q_c = (1/n) sum_(j in c) (s_j - mean s)^2",
       .headers = {"include/incontext/classification/adaptive_onset.hpp"},
       .docs = "docs/theory/classification.md#onset",
       .simulator = "cuda/incontext/simulate/adaptive_onset.hpp",
       .commands = {"classify-onset"},
       .evidence = {{"Two classes: no slope"}},
       .controls = {control("theory", "no slope")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/figure-8a",
       .place = "Fig. 8a",
       .statement = "The relative variance of the partition function depends on the kernel's width and falls with the "
                    "dimension.",
       .found = "It does. The law of independent points is exact for these. In low dimension the partition function of "
                "balanced classes varies more than that law says, and that of two classes less.",
       .equation = "Var Z/(E Z)^2 = (A_d(2 kappa)/A_d(kappa)^2 - 1)/n, A_d(kappa) = E e^(kappa u . x)",
       .headers = {"include/incontext/classification/partition_function.hpp",
                   "include/incontext/classification/two_class_layer.hpp"},
       .docs = "docs/theory/classification.md#partition-function",
       .simulator = "cuda/incontext/simulate/classification_partition_function.hpp",
       .commands = {"classify-8a"},
       .evidence = {{"The squared spread"}},
       .controls = {control("theory", "independent")}},
      {.id = "kernel-descent/figure-8b",
       .place = "Fig. 8b, App. B",
       .statement =
           "The best single rate is different in dense and in sparse neighborhoods, and softmax finds both by itself.",
       .found = "It is: the best rate is 44 in dense and 947 in sparse neighborhoods at the kernel rule's best width, "
                "where softmax takes 62 and 564 (d = 2, n = 100).",
       .equation = "p = softmax(c sum_j a_j y_j), a_j = e^(kappa x_j . x) / sum_i e^(kappa x_i . x): the rate n c/Z of "
                   "the kernel step",
       .headers = {descent, "include/incontext/classification/sparse_neighborhood.hpp"},
       .docs = "docs/theory/classification.md#sparse-neighborhoods",
       .simulator = attention_trial,
       .commands = {"classify-8b"},
       .evidence = {{"The probability of the right class"}, {"Balanced cells"}},
       .controls = {control("theory", "probability, "), control("theory", "Var Z")}},
      {.id = "kernel-descent/figure-16",
       .place = "Fig. 16",
       .statement = "The best kernel is wider and its gain larger in higher dimension.",
       .found = "It is, at n = 100, up to d = 5. At d = 10 the search ends at its lowest concentration, where softmax "
                "is the linear rule.",
       .equation = adaptive_step,
       .headers = {descent},
       .docs = "docs/theory/classification.md#linear-limit",
       .simulator = attention_trial,
       .commands = {"classify-16"},
       .evidence = {{"Attention, token by token"}},
       .controls = {control("theory", "entropy at a gain"), control("theory", "margin")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/valley",
       .place = "App. J, App. L",
       .statement = "Training determines a width and a gain.",
       .found = "It determines their product: along the gain of least loss the loss is flat. Trained layers are on the "
                "valley's floor at their own width; those that select have twice the best concentration.",
       .equation = "kappa = (tau/d) tr M_xx, c = tr((I - 1 1^T/k) P_yy)/(k - 1)",
       .headers = {constructions},
       .docs = "docs/theory/classification.md#effective-parameters",
       .simulator = training,
       .commands = {"train-valley"},
       .evidence = {{"Trained layers beside the valley"}},
       .controls = {control("rule", "half the floor")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/figure-17",
       .place = "App. K, Fig. 17",
       .statement = "Selection is learned more often than elimination.",
       .found = "From the paper's small weights 19 of 20 seeds select at d = 3, k = 5, n = 100; from weights of 0.5 a "
                "share of one half is not excluded. Layers of both kinds have the losses of their rules.",
       .equation = "selection: kappa > 0 and c > 0; elimination: both < 0",
       .headers = {constructions},
       .docs = "docs/theory/classification.md#elimination",
       .simulator = training,
       .commands = {"train-17"},
       .evidence = {{"Selection and elimination"}},
       .controls = {control("rule", "four times")},
       .expected = Outcome::refined},
      {.id = "kernel-descent/appendix-k",
       .place = "App. K",
       .statement = "Elimination attends to the farthest points and removes their labels.",
       .found = "With two classes, and a query that is no key, elimination has the law of selection exactly.",
       .equation = "(kappa, c) and (-kappa, -c) have one law",
       .headers = {descent},
       .docs = "docs/theory/classification.md#elimination",
       .simulator = "cuda/incontext/simulate/classification.hpp",
       .commands = {"classify-elimination"},
       .evidence = {{"Two classes, the query no key"}},
       .controls = {control("theory", "margin"), control("theory", "mean square")}},
      {.id = "kernel-descent/figure-18",
       .place = "App. L, Fig. 18",
       .statement = "Where training ends depends on the learning rate, and large gains are found.",
       .found = "Layers that arrive have the rule's loss; with a small rate they have not arrived after as many steps.",
       .equation = adaptive_step,
       .headers = {constructions},
       .docs = "docs/theory/training.md#context-layers",
       .simulator = training,
       .commands = {"train-18"},
       .evidence = {{"Softmax attention by the learning rate"}},
       .controls = {control("rule", "a loss 10%")}},
      {.id = "kernel-descent/figure-10",
       .place = "App. C, Figs. 10, 11",
       .statement = "In-context learning is transient where the prototypes are shared among contexts.",
       .found =
           "It is transient with 8 sets of prototypes, and not seen to be with 128. At d = 3, k = 3, n = 12 and with "
           "a perceptron of 8 times the width the loss on contexts with prototypes of their own rises from its "
           "least by 0.102 ± 0.011 (8 sets) and by -0.001 ± 0.004 (128) more than without shared sets (12,000 steps, "
           "16 seeds). With "
           "8 the shared prototypes are learned by heart.",
       .headers = {"include/incontext/training/sequence_transformer.hpp"},
       .docs = "docs/theory/training.md#shared-prototypes",
       .simulator = "cuda/incontext/train/sphere_sequences.hpp",
       .commands = {"train-transience"},
       .evidence = {{"Rise of the loss above", {{"sets", "8"}}}, {"What is lost of learning", {{"sets", "0"}}}},
       .paper_says = {control("rule", "as much is lost as with 8 sets")},
       .controls = {{"Negative controls", {{"rule", "nothing is lost of learning"}, {"layer", "d = 3, 8 sets"}}},
                    control("rule", "shared prototypes are not")},
       .expected = Outcome::refined},
  };
}

}  // namespace incontext::examples::verify
