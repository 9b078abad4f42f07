/// The edition that the dynamic loader has chosen for this processor: "plain", or the name of an instruction set.
extern "C" __attribute__((visibility("default"))) const char* incontext_edition() { return INCONTEXT_EDITION; }
