"""Moments of softmax on a row of independent normal scores, to about 30 digits."""

import mpmath as mp
import numpy as np

STEP = mp.mpf("0.13")  # of s: the trapezoidal rule's error is exp(-pi^2 / STEP) = 1e-33
WIDEST = mp.mpf("0.5")  # step of g, whose error is exp(-2 pi^2 / WIDEST^2) = 1e-34
REACH = 12  # standard deviations
SCALE = 200  # bits of a fixed-point number


def set_partitions(items):
    """All ways to split a list into blocks."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in set_partitions(rest):
        yield [[first]] + partition
        for i, block in enumerate(partition):
            yield partition[:i] + [[first] + block] + partition[i + 1 :]


class NormalRow:
    """n weights proportional to exp(x g), g standard normal, by docs/theory/laws.md#one-integral.

    With Z the sum of exp(x g), 1 / Z^K = int exp(K s - e^s Z) ds / Gamma(K), and under the integral over s the scores
    are independent. The steps of s and of x g are the same, so that every value of y = s + x g is one of a table.
    """

    def __init__(self, n, x, largest_exponent=0):
        self.n, self.x = n, mp.mpf(x)
        self.step = min(STEP, self.x * WIDEST)
        half = int(mp.ceil(REACH * self.x / self.step))
        self.g = [i * self.step / self.x for i in range(-half, half + 1)]
        density = self.step / self.x / mp.sqrt(2 * mp.pi)
        self.density = [density * mp.exp(-g * g / 2) for g in self.g]
        low = -(80 + mp.log(n) + self.x**2 / 2 + largest_exponent)
        high = REACH * self.x + 6
        self.s = [i * self.step for i in range(int(low / self.step), int(high / self.step) + 1)]
        first = self.s[0] - half * self.step
        self.y = [first + i * self.step for i in range(len(self.s) + 2 * half)]
        self.double_exponentials = [mp.exp(-mp.exp(y)) if y < 6 else mp.mpf(0) for y in self.y]
        self.known = {}
        self.psi = self.kernel(0, 0)

    def kernel(self, k, l):
        """E g^l exp(k y - e^y) at every s."""
        if (k, l) not in self.known:
            fixed = lambda values: np.array([int(mp.ldexp(v, SCALE)) for v in values], dtype=object)
            table = fixed(mp.exp(k * y) * e for y, e in zip(self.y, self.double_exponentials))
            factors = fixed(c * g**l for c, g in zip(self.density, self.g))
            sums = (int(np.dot(factors, table[i : i + len(factors)])) for i in range(len(self.s)))
            self.known[k, l] = [mp.ldexp(mp.mpf(total), -2 * SCALE) for total in sums]
        return self.known[k, l]

    def integral(self, values):
        return self.step * mp.fsum(values)

    def moment(self, *factors):
        """E of the product over (k, l) of sum a^k g^l: a sum over which of the indices are the same."""
        degree = sum(k for k, _ in factors)
        total = mp.mpf(0)
        for partition in set_partitions(list(factors)):
            blocks = len(partition)
            count = mp.ff(self.n, blocks)
            if count == 0:
                continue
            kernels = [self.kernel(sum(k for k, _ in block), sum(l for _, l in block)) for block in partition]
            values = (mp.fprod(parts) * psi ** (self.n - blocks) for psi, *parts in zip(self.psi, *kernels) if psi > 0)
            total += count * self.integral(values)
        return total / mp.gamma(degree)

    def log_partition(self):
        """E log Z = int (exp(-e^s) - E exp(-e^s Z)) ds."""
        return self.integral(mp.exp(-mp.exp(s)) - psi**self.n for s, psi in zip(self.s, self.psi))

    def needle(self, exponent, stddev=0):
        """E of the weight of one more score, exponent + stddev g, beside the n."""
        terms = [(mp.mpf(1), mp.mpf(0))]
        if stddev:
            nodes = [mp.mpf(i) / 3 for i in range(-3 * REACH, 3 * REACH + 1)]
            terms = [(mp.exp(-g * g / 2) / mp.sqrt(2 * mp.pi) / 3, stddev * g) for g in nodes]
        own = lambda y: mp.exp(y - mp.exp(y))
        mean = lambda s: mp.fsum(c * own(s + exponent + e) for c, e in terms)
        return self.integral(psi**self.n * mean(s) for s, psi in zip(self.s, self.psi))

    def noise(self, exponent):
        """1 minus the weight of a needle, as a sum of positive terms."""
        kernel = self.kernel(1, 0)
        values = (k * p ** (self.n - 1) * mp.exp(-mp.exp(s + exponent)) for s, p, k in zip(self.s, self.psi, kernel))
        return self.n * self.integral(values)
