#include "examples/verify/claim.hpp"

namespace incontext::examples::verify {

namespace {

const std::string rows_trial = "cuda/incontext/simulate/score_rows.hpp";

}  // namespace

std::vector<Claim> scalable_softmax_claims() {
  return {
      {.id = "scalable-softmax/fading",
       .place = "Section 2, Fig. 1",
       .statement = "The largest weight of softmax falls to 0 as the row gets longer.",
       .found = "A score 5 above the others keeps half of the weight up to n = 149, and less beyond.",
       .equation = "a = 1/(1 + (n - 1) e^-gap)",
       .headers = {"include/incontext/laws/fading.hpp", "include/incontext/laws/fading_thresholds.hpp"},
       .docs = "docs/theory/laws.md#two-levels",
       .commands = {"scores-fading"},
       .evidence = {relation("softmax's weight"), relation("softmax keeps half"), relation("softmax keeps less")},
       .controls = {relation("control: n others")},
       .curves = {"Weight of one score", "n", {"softmax", "ssmax", "ssa"}}},
      {.id = "scalable-softmax/figure-1",
       .place = "Fig. 1",
       .statement = "SSMax keeps the largest weight close to 1, regardless of the row's length.",
       .found = "It tends to 1 in long rows. In short rows it is less sharp than softmax, up to n = 10, and it dips to "
                "0.816 at "
                "n = 2 (s = 0.43, a gap of 5).",
       .headers = {"include/incontext/scoring/ssmax.hpp", "include/incontext/laws/fading.hpp"},
       .docs = "docs/theory/laws.md#two-levels",
       .commands = {"scores-fading"},
       .evidence = {relation("SSMax's weight"), relation("SSMax weakest"), relation("SSMax no sharper"),
                    relation("SSMax sharper")},
       .controls = {relation("control: n others")},
       .expected = Outcome::refined,
       .curves = {"Weight of one score", "n", {"softmax", "ssmax"}}},
      {.id = "scalable-softmax/normal-rows",
       .place = "Section 2",
       .statement = "How softmax distributes its weight over a row of scores.",
       .found =
           "Rows of normal scores have exact laws, from even weights to frozen ones; the annealed limit is rejected.",
       .headers = {"include/incontext/laws/gaussian_row.hpp", "include/incontext/laws/gaussian_maximum.hpp"},
       .docs = "docs/theory/laws.md#normal-scores",
       .simulator = rows_trial,
       .commands = {"fading-phase"},
       .evidence = {{"Softmax over"}},
       .controls = {control("limit", "Y_2")}},
      {.id = "scalable-softmax/figure-2",
       .place = "Fig. 2",
       .statement = "The learned inverse temperature grows like a_1 log n + a_2.",
       .found = "It does for competitors with an upper edge, with a lag, and the slope tends to 2.868 for U(0, 1) and "
                "a needle "
                "N(1.5, 0.5^2). Among normal competitors it tends to a constant.",
       .headers = {"include/incontext/laws/needle_cross_entropy.hpp"},
       .docs = "docs/theory/laws.md#needle-cross-entropy",
       .simulator = rows_trial,
       .commands = {"fading-optimum"},
       .evidence = {{"p_n and the cross entropy"}},
       .paper_says = {control("limit", "p_n = a log n")},
       .controls = {control("limit", "p_n")},
       .expected = Outcome::refined},
      {.id = "scalable-softmax/figure-2-trained",
       .place = "Fig. 2",
       .statement = "The same by training.",
       .found = "An inverse temperature that is trained at each length arrives at the least expected cross entropy.",
       .headers = {"include/incontext/laws/needle_cross_entropy.hpp"},
       .docs = "docs/theory/training.md#needle-training",
       .simulator = "cuda/incontext/train/needle.hpp",
       .commands = {"train-needle"},
       .evidence = {{"The inverse temperature learned"}},
       .controls = {control("statement", "p_n"), control("statement", "half of")}},
      {.id = "scalable-softmax/figure-3",
       .place = "Fig. 3",
       .statement = "Softmax needs an ever larger score to take half of the weight from an even grid, SSMax does not.",
       .found = "Softmax' threshold grows like log n; SSMax' tends to 1 + 1/s.",
       .headers = {"include/incontext/laws/fading_grid.hpp"},
       .docs = "docs/theory/laws.md#grid",
       .commands = {"scores-threshold"},
       .evidence = {relation("softmax at"), relation("SSMax")},
       .controls = {relation("control")},
       .curves = {"The score z*", "n", {"softmax", "ssmax", "ssmax_asymptotic"}}},
      {.id = "scalable-softmax/one-over-s",
       .place = "Fig. 3, Section 3",
       .statement = "SSMax attends to a score that exceeds the others by about 1/s, regardless of the length.",
       .found = "That is the limit for bounded scores, reached like log log n / log n: the threshold is 2.90 at n = "
                "100 and 3.03 "
                "at a million, where the limit is 3.33 (s = 0.43, scores on [0, 1]).",
       .headers = {"include/incontext/laws/uniform_needle.hpp", "include/incontext/laws/retrieval_threshold.hpp"},
       .docs = "docs/theory/laws.md#retrieval",
       .simulator = rows_trial,
       .commands = {"fading-bounded"},
       .evidence = {{"SSMax' weight"}},
       .paper_says = {control("limit", "m* = 1 + 1/s")},
       .controls = {control("limit", "m* = 1 + 1/s")},
       .expected = Outcome::refined},
      {.id = "scalable-softmax/one-over-s-normal",
       .place = "Section 3",
       .statement = "The same among scores of any kind.",
       .found = "Among normal scores it is not so: the needle must exceed their mean by 3.25 at n = 100 and by 4.63 at "
                "100,000, "
                "and 1/s = 2.33 is rejected.",
       .headers = {"include/incontext/laws/retrieval.hpp", "include/incontext/laws/gaussian_needle.hpp"},
       .docs = "docs/theory/laws.md#retrieval",
       .simulator = rows_trial,
       .commands = {"fading-retrieval"},
       .evidence = {{"Weight of a needle"}},
       .paper_says = {control("limit", "m* = 1/s")},
       .controls = {control("limit", "m* = 1/s")},
       .expected = Outcome::refuted},
      {.id = "scalable-softmax/retrieval",
       .place = "Fig. 7, needle in a haystack",
       .statement = "SSMax retrieves a needle from longer contexts than softmax.",
       .found =
           "It does: a needle 4.5 standard deviations above normal scores keeps 0.75 of the weight at n = 10,000. Its "
           "competitors freeze at 50,000, and then it fades as well, to 0.047 at a million.",
       .headers = {"include/incontext/laws/gaussian_needle.hpp", "include/incontext/laws/critical_length.hpp"},
       .docs = "docs/theory/laws.md#needle",
       .simulator = rows_trial,
       .commands = {"fading"},
       .evidence = {{"Weight of a needle"}, {"Critical length"}},
       .controls = {control("limit", "1 / (1 +")},
       .expected = Outcome::refined},
      {.id = "scalable-softmax/figure-5-toy",
       .place = "Fig. 5, variants (e), (f)",
       .statement = "SSMax in place of softmax after training, or late in it, helps long contexts.",
       .found = "In a transformer of one layer on quantifiers, which learn the task with both maps; the longer rows "
                "need the "
                "full edition of the program (docs/findings.md).",
       .headers = {"include/incontext/training/sequence_transformer.hpp"},
       .docs = "docs/theory/training.md#sequence-transformer",
       .simulator = "cuda/incontext/train/sequence.hpp",
       .expected = Outcome::untested,
       .reason = "what decides is right answers after long training, which incontext-train prints with intervals and "
                 "does not judge"},
      {.id = "scalable-softmax/figure-4",
       .place = "Figs. 4, 5",
       .statement = "Language models with SSMax learn faster and generalize to longer contexts.",
       .found = "",
       .expected = Outcome::out_of_reach,
       .reason = "needs the pretraining of language models of 162 million parameters"},
      {.id = "scalable-softmax/figure-6",
       .place = "Figs. 6 to 8, Tables 1 to 3",
       .statement = "Language models with SSMax retrieve key information, and place their attention on it.",
       .found = "",
       .expected = Outcome::out_of_reach,
       .reason = "needs trained language models and retrieval prompts"},
  };
}

}  // namespace incontext::examples::verify
