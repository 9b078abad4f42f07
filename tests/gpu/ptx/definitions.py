"""What an instruction of PTX must give, by the manual, in exact arithmetic: whole numbers and fractions of Python.

`expected(name, operands)` takes the operands' bits and returns the result's bits, NAN where any NaN will do, or a
function that judges a result, where the manual bounds an error. It shares nothing with the C of instructions.py, which
it tests.
"""
import math
import struct
from fractions import Fraction

NAN = "NaN"
INFINITY = math.inf
SIGNIFICAND = {"f32": 24, "f64": 53}
LEAST_EXPONENT = {"f32": -149, "f64": -1074}  # of the least number above zero, which is two to this power
BITS = {"pred": 1, "f32": 32, "f64": 64, **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}}


def float_of(bits, t):
    """The number as one of Python's, which has all of f32 and f64."""
    return struct.unpack("<f" if t == "f32" else "<d", bits.to_bytes(BITS[t] // 8, "little"))[0]


def bits_of(number, t):
    """Of a number that the type has."""
    return int.from_bytes(struct.pack("<f" if t == "f32" else "<d", number), "little")


def signed(bits, t):
    return bits - (1 << BITS[t]) if bits >> (BITS[t] - 1) else bits


def integer_of(bits, t):
    return signed(bits, t) if t[0] == "s" else bits


def wrapped(number, t):
    return number & ((1 << BITS[t]) - 1)


def whole(x, rounding):
    """A fraction rounded to a whole number: n to nearest and then to even, z toward zero, m down, p up."""
    if rounding == "m" or rounding == "z" and x >= 0:
        return math.floor(x)
    if rounding in ("p", "z"):
        return math.ceil(x)
    return round(x)


def rounded(x, t, rounding="n", zero_is_negative=False):
    """The bits of a fraction, rounded to the type. An exact zero has the sign that is given."""
    if x == 0:
        return int(zero_is_negative) << (BITS[t] - 1)
    sign = -1 if x < 0 else 1
    exponent = max(math.floor(log2_below(abs(x))) - SIGNIFICAND[t] + 1, LEAST_EXPONENT[t])
    scaled = whole(x / Fraction(2) ** exponent, rounding)
    largest = (2 ** SIGNIFICAND[t] - 1) * Fraction(2) ** (127 - 23 if t == "f32" else 1023 - 52)
    value = scaled * Fraction(2) ** exponent
    if abs(value) > largest:
        stays = rounding == "z" or rounding == "m" and x > 0 or rounding == "p" and x < 0
        return bits_of(math.copysign(float(largest) if stays else INFINITY, sign), t)
    return bits_of(math.copysign(float(abs(value)), sign), t)  # a result that is zero has the sign of x


def log2_below(x):
    """The exponent of the greatest power of two that is not above a fraction."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if x >= Fraction(2) ** exponent else exponent - 1


def special(value, t):
    return NAN if math.isnan(value) else bits_of(value, t)


def is_negative(number):
    return math.copysign(1, number) < 0


def add(a, b, t, rounding):
    if not (math.isfinite(a) and math.isfinite(b)):
        return special(a + b, t)
    both_negative = is_negative(a) and is_negative(b)
    both_zero = a == 0 and b == 0
    zero_is_negative = both_negative if both_zero and is_negative(a) == is_negative(b) else rounding == "m"
    return rounded(Fraction(a) + Fraction(b), t, rounding, zero_is_negative)


def multiply(a, b, t, rounding):
    if not (math.isfinite(a) and math.isfinite(b)):
        return special(a * b, t)
    return rounded(Fraction(a) * Fraction(b), t, rounding, is_negative(a) != is_negative(b))


def fused(a, b, c, t, rounding):
    if not (math.isfinite(a) and math.isfinite(b)):
        product = a * b
        return special(product + c, t)
    if not math.isfinite(c):
        return special(c, t)
    product, is_below = Fraction(a) * Fraction(b), is_negative(a) != is_negative(b)
    if product == 0 and c == 0 and is_below == is_negative(c):
        return rounded(Fraction(0), t, rounding, is_below)
    return rounded(product + Fraction(c), t, rounding, rounding == "m")


def divide(a, b, t):
    if math.isnan(a) or math.isnan(b) or a == b == 0 or math.isinf(a) and math.isinf(b):
        return NAN
    is_below = is_negative(a) != is_negative(b)
    if math.isinf(a) or b == 0:
        return bits_of(-INFINITY if is_below else INFINITY, t)
    if math.isinf(b):
        return rounded(Fraction(0), t, "n", is_below)
    return rounded(Fraction(a) / Fraction(b), t, "n", is_below)


def square_root(a, t):
    if math.isnan(a) or a < 0:
        return NAN
    if a == 0 or math.isinf(a):
        return bits_of(a, t)
    # 200 bits of the root; where it is not exact, half a unit more keeps it off every tie
    exponent = (log2_below(Fraction(a)) // 2 - 200) * 2
    radicand = Fraction(a) / Fraction(2) ** exponent
    root = math.isqrt(math.floor(radicand))
    rest = 0 if root * root == radicand else Fraction(1, 2)
    return rounded((root + rest) * Fraction(2) ** (exponent // 2), t)


def flushed(a):
    return math.copysign(0.0, a) if abs(a) < 2.0 ** -126 else a


def flushed_bits(bits):
    return bits if bits == NAN else bits_of(flushed(float_of(bits, "f32")), "f32")


def compare(relation, a, b, is_float):
    is_unordered = is_float and (math.isnan(a) or math.isnan(b))
    if relation in ("num", "nan"):
        return is_unordered == (relation == "nan")
    if is_float and len(relation) == 3:
        return is_unordered or compare(relation[:2], a, b, True)
    if is_unordered:
        return False
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
            "lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b}[relation]


def near(exact, t, relative, absolute=0.0):
    """Judges an approximation of a real number."""
    def judge(bits):
        return abs(float_of(bits, t) - exact) <= relative * abs(exact) + absolute
    return judge


def approximation(name, a, t):
    """The functions whose errors the manual bounds."""
    flushes = ".ftz" in name
    a = flushed(a) if flushes and t == "f32" else a
    if math.isnan(a):
        return NAN
    if name.startswith("ex2"):
        if a > 128 or a < -150:
            return bits_of(INFINITY if a > 0 else 0.0, t)
        exact = 2.0 ** a
        if flushes and exact < 2.0 ** -126:
            return bits_of(0.0, t)
        return near(exact, t, 2.0 ** -22, 2.0 ** -149) if exact < 2.0 ** 128 else bits_of(INFINITY, t)
    if name.startswith("lg2"):
        if a < 0:
            return NAN
        if a == 0 or math.isinf(a):
            return bits_of(-INFINITY if a == 0 else a, t)
        return near(math.log2(a), t, 2.0 ** -22, 2.0 ** -22)
    if name.startswith(("sin", "cos")):  # within 2 pi; the manual bounds it less beyond
        function = math.sin if name.startswith("sin") else math.cos
        return NAN if math.isinf(a) else near(function(a), t, 0, 2.0 ** -20.5)
    if a == 0 or math.isinf(a):  # rcp
        return bits_of(math.copysign(INFINITY if a == 0 else 0.0, a), t)
    if t == "f32":
        return near(1 / a, t, 2.0 ** -23) if abs(1 / a) >= 2.0 ** -126 else bits_of(math.copysign(0.0, a), t)
    if abs(a) < 2.0 ** -1022:
        return bits_of(math.copysign(INFINITY, a), t)
    if abs(1 / a) < 2.0 ** -1022:
        return bits_of(math.copysign(0.0, a), t)
    return lambda bits: bits & 0xFFFFFFFF == 0 and near(1 / a, t, 2.0 ** -19)(bits)


def of_floats(base, modifiers, t, operands):
    values = [float_of(bits, t) for bits in operands]
    rounding = next((m[1] for m in modifiers if m in ("rn", "rz", "rm", "rp")), "n")
    if "approx" in modifiers:
        return approximation(".".join([base, *modifiers]), values[0], t)
    if "ftz" in modifiers:
        plain = [m for m in modifiers if m != "ftz"]
        without_subnormals = [bits_of(flushed(v), t) if v == v else bits for v, bits in zip(values, operands)]
        return flushed_bits(of_floats(base, plain, t, without_subnormals))
    if base in ("add", "sub"):
        return add(values[0], values[1] if base == "add" else -values[1], t, rounding)
    if base == "mul":
        return multiply(*values, t, rounding)
    if base == "fma":
        return fused(*values, t, rounding)
    if base in ("div", "rcp"):
        return divide(*(values if base == "div" else [1.0, values[0]]), t)
    if base == "sqrt":
        return square_root(values[0], t)
    if base in ("min", "max"):
        numbers = [v for v in values if v == v]
        if not numbers:
            return NAN
        pick = min if base == "min" else max
        return bits_of(pick(numbers, key=lambda v: (v, math.copysign(1, v))), t)
    sign = 1 << (BITS[t] - 1)
    if base in ("abs", "neg"):
        return NAN if values[0] != values[0] else operands[0] & ~sign if base == "abs" else operands[0] ^ sign
    if base == "copysign":
        return operands[0] & sign | operands[1] & ~sign
    if base == "testp":
        return int({"finite": math.isfinite, "infinite": math.isinf, "number": lambda v: not math.isnan(v),
                    "notanumber": math.isnan}[modifiers[0]](values[0]))
    raise KeyError(base)


def of_integers(base, modifiers, t, operands):
    values = [integer_of(bits, t) for bits in operands]
    bits = BITS[t]
    if base in ("add", "sub"):
        return wrapped(values[0] + values[1] if base == "add" else values[0] - values[1], t)
    if base in ("mul", "mad"):
        third = operands[2] if base == "mad" else 0
        product = values[0] * values[1]
        if modifiers[0] == "wide":
            return (product + third) & ((1 << 2 * bits) - 1)
        return wrapped((product >> bits if modifiers[0] == "hi" else product) + third, t)
    if base in ("div", "rem"):
        quotient = abs(values[0]) // abs(values[1]) * (1 if (values[0] < 0) == (values[1] < 0) else -1)
        return wrapped(quotient if base == "div" else values[0] - quotient * values[1], t)
    if base in ("min", "max"):
        return wrapped((min if base == "min" else max)(values), t)
    if base in ("neg", "abs"):
        return wrapped(-values[0] if base == "neg" else abs(values[0]), t)
    if base in ("and", "or", "xor"):
        a, b = operands
        return a & b if base == "and" else a | b if base == "or" else a ^ b
    if base == "not":
        return wrapped(~operands[0], t)
    if base in ("shl", "shr"):
        amount = min(operands[1], bits)
        return wrapped(values[0] << amount if base == "shl" else values[0] >> amount, t)
    digits = format(operands[0], f"0{bits}b")  # the highest bit first
    if base == "popc":
        return digits.count("1")
    if base == "clz":
        return bits - len(digits.lstrip("0"))
    if base == "brev":
        return int(digits[::-1], 2)
    if base == "bfe":
        first, length = operands[1] & 255, operands[2] & 255
        return sum(1 << i for i in range(length) if first + i < bits and digits[bits - 1 - first - i] == "1")
    if base == "bfi":
        first, length = operands[2] & 255, operands[3] & 255
        result = list(format(operands[1], f"0{bits}b")[::-1])
        for i in range(length):
            if first + i < bits and i < bits:
                result[first + i] = digits[bits - 1 - i]
        return int("".join(result[::-1]), 2)
    if base == "shf":
        low, high, amount = operands
        amount = amount % 32 if modifiers[1] == "wrap" else min(amount, 32)
        both = high << 32 | low
        return (both << amount >> 32 if modifiers[0] == "l" else both >> amount) & 0xFFFFFFFF
    if base == "lop3":
        a, b, c, table = operands
        return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))
    if base == "prmt":
        source = operands[0].to_bytes(4, "little") + operands[1].to_bytes(4, "little")
        selectors = [operands[2] >> (4 * i) & 15 for i in range(4)]
        chosen = [(255 if source[s & 7] > 127 else 0) if s > 7 else source[s] for s in selectors]
        return int.from_bytes(bytes(chosen), "little")
    raise KeyError(base)


def converted(modifiers, operand):
    to, source = modifiers[-2:]
    rounding = modifiers[0] if len(modifiers) > 2 else None
    if source not in ("f32", "f64"):
        value = integer_of(operand, source)
        return rounded(Fraction(value), to) if to in ("f32", "f64") else wrapped(value, to)
    value = float_of(operand, source)
    if to in ("f32", "f64"):
        if rounding == "sat":
            return bits_of(0.0 if value != value or value <= 0 else min(value, 1.0), to)
        if not math.isfinite(value):
            return special(value, to)
        if rounding in ("rni", "rzi", "rmi", "rpi"):
            return rounded(Fraction(whole(Fraction(value), rounding[1])), to, "n", is_negative(value))
        return rounded(Fraction(value), to, rounding[1] if rounding else "n", is_negative(value))
    if value != value:
        return 0 if source == "f32" and BITS[to] == 32 else 1 << (BITS[to] - 1)
    least, most = (-(1 << (BITS[to] - 1)), (1 << (BITS[to] - 1)) - 1) if to[0] == "s" else (0, (1 << BITS[to]) - 1)
    if math.isinf(value):
        return wrapped(most if value > 0 else least, to)
    return wrapped(min(max(whole(Fraction(value), rounding[1]), least), most), to)


def expected(name, operands):
    base, *modifiers = name.split(".")
    t = modifiers[-1]
    if base == "cvt":
        return converted(modifiers, operands[0])
    if base == "setp":
        is_float = t in ("f32", "f64")
        a, b = (float_of(bits, t) if is_float else integer_of(bits, t) for bits in operands[:2])
        result = int(compare(modifiers[0], a, b, is_float))
        if len(modifiers) == 3:
            other = operands[2]
            return {"and": result & other, "or": result | other, "xor": result ^ other}[modifiers[1]]
        return result
    if base == "selp":
        return operands[0] if operands[2] else operands[1]
    if t in ("f32", "f64"):
        return of_floats(base, modifiers[:-1], t, operands)
    return of_integers(base, modifiers[:-1], t, operands)


def with_carry(name, operands, carry):
    """The result and the flag after one of the instructions of the carry chain."""
    base, *modifiers = name.split(".")
    reads = carry if base in ("addc", "subc", "madc") else 0
    if base.startswith("sub"):
        exact = operands[0] - operands[1] - reads
    elif base.startswith("add"):
        exact = operands[0] + operands[1] + reads
    else:
        product = operands[0] * operands[1]
        exact = (product >> 32 if modifiers[0] == "hi" else product & 0xFFFFFFFF) + operands[2] + reads
    writes = not 0 <= exact < 1 << 32
    return exact & 0xFFFFFFFF, int(writes) if "cc" in modifiers else carry
