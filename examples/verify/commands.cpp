#include "examples/verify/claim.hpp"

namespace incontext::examples::verify {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands{
      {"train-reasoning", "incontext-train reasoning", "incontext-train reasoning --seeds 10"},
      {"train-ends", "incontext-train regression --figure ends", "incontext-train regression --figure ends --seeds 32"},
      {"train-temperature", "incontext-train regression --figure temperature",
       "incontext-train regression --figure temperature --seeds 32"},
      {"train-rules", "incontext-train classification --seeds 1", "incontext-train classification --seeds 5"},
      {"train-7", "incontext-train classification --figure 7"},
      {"train-17", "incontext-train classification --figure 17"},
      {"train-18", "incontext-train classification --figure 18"},
      {"train-valley", "incontext-train classification --figure valley"},
      {"train-affine", "incontext-train affine --models attention,attention-norms,full"},
      {"train-quantifier", "",
       "incontext-train quantifier --full --quantifiers every --numbers one-exception --lengths 200 --maps "
       "softmax,ssa,ssmax --seeds 16 --tested 2048"},
      {"train-alternatives", "",
       "incontext-train affine --full --models full --maps softmax,soft-average,four,sa-softmax,average --seeds 16"},
      {"train-transience", "",
       "incontext-train classification --figure 10 --full --prototype-sets 8,128 --hidden-ratios 8 --seeds 16 "
       "--trials 1024"},
      {"train-needle", "incontext-train needle", "incontext-train needle --seeds 32"},

      {"temperature-2a", "incontext-temperature --figure 2a", "incontext-temperature --figure 2a --trials 1048576"},
      {"temperature-2a-literal", "incontext-temperature --figure 2a --estimator literal",
       "incontext-temperature --figure 2a --estimator literal --trials 262144"},
      {"temperature-2b", "incontext-temperature --figure 2b", "incontext-temperature --figure 2b --trials 1048576"},
      {"temperature-2c", "incontext-temperature --figure 2c", "incontext-temperature --figure 2c --trials 1048576"},
      {"temperature-3a", "incontext-temperature --figure 3a", "incontext-temperature --figure 3a --trials 1048576"},
      {"temperature-3b", "incontext-temperature --figure 3b", "incontext-temperature --figure 3b --trials 1048576"},
      {"temperature-3c", "incontext-temperature --figure 3c", "incontext-temperature --figure 3c --trials 262144"},
      {"temperature-6", "incontext-temperature --figure 6", "incontext-temperature --figure 6 --trials 262144"},
      {"temperature-7", "incontext-temperature --figure 7", "incontext-temperature --figure 7 --trials 1048576"},
      {"temperature-mean-shift", "incontext-temperature --figure mean-shift",
       "incontext-temperature --figure mean-shift --trials 262144"},
      {"temperature-scores", "incontext-temperature --figure scores"},
      {"softmax-error", "incontext-softmax-error --attention scaled --context-length 50 --vary dimension",
       "incontext-softmax-error --attention scaled --context-length 50 --vary dimension --trials 1048576"},
      {"softmax-error-map", "incontext-softmax-error --attention scaled --dimension 4 --context-length 50 --vary map",
       "incontext-softmax-error --attention scaled --dimension 4 --context-length 50 --vary map --trials 1048576"},

      {"scores-approximation", "incontext-scores --figure approximation"},
      {"scores-ssa-base", "incontext-scores --figure ssa-base"},
      {"scores-fading", "incontext-scores --figure ssmax-fading"},
      {"scores-gap-4", "incontext-scores --figure ssmax-fading --gap 4 --lengths 2,5,10,40,200"},
      {"scores-threshold", "incontext-scores --figure ssmax-threshold"},
      {"scores-deviant", "incontext-scores --figure deviant"},
      {"scores-prompt", "incontext-scores --figure prompt"},
      {"scores-normsoftmax", "incontext-scores --figure normsoftmax-bound"},

      {"fading-phase", "incontext-fading --figure phase", "incontext-fading --figure phase --trials 65536"},
      {"fading", "incontext-fading --figure fading", "incontext-fading --figure fading --trials 65536"},
      {"fading-retrieval", "incontext-fading --figure retrieval", "incontext-fading --figure retrieval --trials 65536"},
      {"fading-bounded", "incontext-fading --figure bounded", "incontext-fading --figure bounded --trials 65536"},
      {"fading-optimum", "incontext-fading --figure optimum", "incontext-fading --figure optimum --trials 65536"},

      {"gradients", "incontext-gradients", "incontext-gradients --trials 32768"},
      {"gradients-frozen", "incontext-gradients --figure frozen", "incontext-gradients --figure frozen --trials 32768"},
      {"gradients-schedule", "incontext-gradients --figure schedule",
       "incontext-gradients --figure schedule --trials 32768"},
      {"gradients-normsoftmax", "incontext-gradients --figure normsoftmax",
       "incontext-gradients --figure normsoftmax --trials 32768"},
      {"gradients-queries", "incontext-gradients --figure queries",
       "incontext-gradients --figure queries --trials 32768"},
      {"gradients-groups", "incontext-gradients --figure groups", "incontext-gradients --figure groups --trials 32768"},
      {"gradients-ends", "incontext-gradients --figure ends", "incontext-gradients --figure ends --trials 32768"},

      {"tasks", "incontext-tasks", "incontext-tasks --trials 16777216"},
      {"tasks-boundary", "incontext-tasks --figure boundary", "incontext-tasks --figure boundary --trials 16777216"},
      {"tasks-deviant", "incontext-tasks --figure deviant", "incontext-tasks --figure deviant --trials 16777216"},

      {"classify-laws", "incontext-classify --figure laws --trials 8192",
       "incontext-classify --figure laws --trials 131072"},
      {"classify-4", "incontext-classify --figure 4 --trials 8192 --search-trials 1024",
       "incontext-classify --figure 4 --trials 65536"},
      {"classify-5", "incontext-classify --figure 5 --trials 8192 --search-trials 1024",
       "incontext-classify --figure 5 --trials 65536"},
      {"classify-6", "incontext-classify --figure 6 --trials 8192 --search-trials 1024",
       "incontext-classify --figure 6 --trials 65536"},
      {"classify-7", "incontext-classify --figure 7 --trials 8192 --search-trials 1024",
       "incontext-classify --figure 7 --trials 65536"},
      {"classify-8a", "incontext-classify --figure 8a --trials 8192 --search-trials 1024",
       "incontext-classify --figure 8a --trials 65536"},
      {"classify-8b", "incontext-classify --figure 8b --trials 8192 --search-trials 1024",
       "incontext-classify --figure 8b --trials 65536"},
      {"classify-16", "incontext-classify --figure 16 --trials 8192 --search-trials 1024",
       "incontext-classify --figure 16 --trials 65536"},
      {"classify-elimination", "incontext-classify --figure elimination --trials 8192 --search-trials 1024",
       "incontext-classify --figure elimination --trials 65536"},
      {"classify-onset", "incontext-classify --figure onset --trials 8192 --search-trials 1024",
       "incontext-classify --figure onset --trials 32768"},
  };
  return commands;
}

}  // namespace incontext::examples::verify
