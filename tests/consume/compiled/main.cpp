#include <cstdio>
#include <initializer_list>

double unit_incontext();
double unit_compiled();

int main() {
  for (auto* unit : {UNITS}) std::printf("%.17g\n", unit());
}
