"""The instructions of PTX that the emulator knows: for each the types of its result and operands, and its value in C.

FORMS maps the full name of an instruction, with all its modifiers, to a Form. A name that is not in it is unknown, and
the translator refuses it. What moves data or control (mov, ld, st, bra, bar, shfl and so on) is in translate.py.

The C of a value sees the operands as a, b, c and d, variables of their types, and the functions of machine.h. The
definitions are those of NVIDIA's manual "Parallel Thread Execution ISA", version 9.0, chapter 9.7.
"""
import collections

# `carry` says what an instruction does with the carry flag: "" nothing, "r" reads, "w" writes, "rw" both. The value of
# one that writes it has a bit more than the result, and this bit is the flag.
Form = collections.namedtuple("Form", "result operands value may_be_contracted carry")

BYTES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8}
FLOATS = ("f32", "f64")
SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
UNTYPED = ("b16", "b32", "b64")
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

FORMS = {}


def define(name, result, operands, value, may_be_contracted=False, carry=""):
    assert name not in FORMS, name
    FORMS[name] = Form(result, operands.split(), value, may_be_contracted, carry)


def unsigned(type_name):
    return "u" + type_name[1:]


def define_arithmetic_of_integers():
    for t in SIGNED + UNSIGNED:
        u, bits = unsigned(t), 8 * BYTES[t]
        # Sums and products are those of unsigned numbers, which wrap: the low bits are the same, and C defines them.
        # The product of two u16 would be one of C's int, so all are multiplied in 64 bits.
        define(f"add.{t}", u, f"{u} {u}", "a + b")
        define(f"sub.{t}", u, f"{u} {u}", "a - b")
        define(f"mul.lo.{t}", u, f"{u} {u}", "(u64)a * b")
        define(f"mad.lo.{t}", u, f"{u} {u} {u}", "(u64)a * b + c")
        define(f"mul.hi.{t}", t, f"{t} {t}", f"high_product_{t}(a, b)")
        define(f"mad.hi.{t}", u, f"{t} {t} {u}", f"({u})high_product_{t}(a, b) + c")
        define(f"div.{t}", t, f"{t} {t}", f"quotient_{t}(a, b)")
        define(f"rem.{t}", t, f"{t} {t}", f"remainder_{t}(a, b)")
        define(f"min.{t}", t, f"{t} {t}", "a < b ? a : b")
        define(f"max.{t}", t, f"{t} {t}", "a > b ? a : b")
        # A shift by the width or more leaves no bit, or copies of the sign. Nothing is taken modulo the width.
        shifted = f"a >> (b < {bits} ? b : {bits - 1})" if t in SIGNED else f"b < {bits} ? a >> b : 0"
        define(f"shr.{t}", t, f"{t} u32", shifted)
        if t in WIDER:
            define(f"mul.wide.{t}", WIDER[t], f"{t} {t}", f"({WIDER[t]})a * b")
            define(f"mad.wide.{t}", unsigned(WIDER[t]), f"{t} {t} {unsigned(WIDER[t])}",
                   f"({unsigned(WIDER[t])})(({WIDER[t]})a * b) + c")
    for t in SIGNED:
        u = unsigned(t)
        define(f"neg.{t}", u, u, "0 - a")
        define(f"abs.{t}", u, t, f"a < 0 ? 0 - ({u})a : ({u})a")


def define_sums_with_carry():
    sums = {"add": ("u32 u32", "(u64)a + b"), "sub": ("u32 u32", "(u64)a - b"),
            "mad.lo": ("u32 u32 u32", "(u64)(u32)(a * b) + c"), "mad.hi": ("u32 u32 u32", "((u64)a * b >> 32) + c")}
    for name, (operands, value) in sums.items():
        base, _, part = name.partition(".")
        part = part and "." + part
        with_carry = value + (" - carry" if base == "sub" else " + carry")
        define(f"{base}{part}.cc.u32", "u32", operands, value, carry="w")
        define(f"{base}c{part}.u32", "u32", operands, with_carry, carry="r")
        define(f"{base}c{part}.cc.u32", "u32", operands, with_carry, carry="rw")


def define_bits():
    for t in UNTYPED:
        bits = 8 * BYTES[t]
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
            define(f"{name}.{t}", t, f"{t} {t}", f"a {sign} b")
        define(f"not.{t}", t, t, "~a")
        define(f"shl.{t}", t, f"{t} u32", f"b < {bits} ? a << b : 0")
        define(f"shr.{t}", t, f"{t} u32", f"b < {bits} ? a >> b : 0")
    for name, value in (("and", "a & b"), ("or", "a | b"), ("xor", "a ^ b")):
        define(f"{name}.pred", "pred", "pred pred", value)
    define("not.pred", "pred", "pred", "!a")
    for t in ("b32", "b64"):
        define(f"popc.{t}", "u32", t, "__builtin_popcountll(a)")
        define(f"clz.{t}", "u32", t, f"a == 0 ? {8 * BYTES[t]} : __builtin_clzll(a) - {64 - 8 * BYTES[t]}")
        define(f"brev.{t}", t, t, f"reversed_bits(a) >> {64 - 8 * BYTES[t]}")
        define(f"bfi.{t}", t, f"{t} {t} u32 u32", f"with_field(a, b, c & 255, d & 255, {8 * BYTES[t]})")
    for t in ("u32", "u64"):
        define(f"bfe.{t}", t, f"{t} u32 u32", "field(a, b & 255, c & 255)")
    define("lop3.b32", "b32", "b32 b32 b32 u32", "logic(a, b, c, d)")
    define("prmt.b32", "b32", "b32 b32 u32", "permuted_bytes(a, b, c)")
    # A funnel shift moves the 64 bits b:a.
    for mode, amount in (("wrap", "(c & 31)"), ("clamp", "(c < 32 ? c : 32)")):
        define(f"shf.l.{mode}.b32", "b32", "b32 b32 u32", f"(((u64)b << 32 | a) << {amount}) >> 32")
        define(f"shf.r.{mode}.b32", "b32", "b32 b32 u32", f"((u64)b << 32 | a) >> {amount}")


def define_arithmetic_of_floats():
    for t in FLOATS:
        for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*")):
            define(f"{name}.rn.{t}", t, f"{t} {t}", f"a {sign} b")
            # Without a rounding, it is to nearest, but ptxas may contract a product and a sum into one fma.
            define(f"{name}.{t}", t, f"{t} {t}", f"a {sign} b", may_be_contracted=True)
            for rounding in ("rz", "rm", "rp"):
                define(f"{name}.{rounding}.{t}", t, f"{t} {t}", f"{name}_{t}(a, b, round_{rounding})")
        define(f"div.rn.{t}", t, f"{t} {t}", "a / b")
        define(f"rcp.rn.{t}", t, t, "1 / a")
        define(f"sqrt.rn.{t}", t, t, f"square_root_{t}(a)")
        define(f"fma.rn.{t}", t, f"{t} {t} {t}", f"fma_{t}(a, b, c)")
        for rounding in ("rz", "rm", "rp"):
            define(f"fma.{rounding}.{t}", t, f"{t} {t} {t}", f"rounded_fma_{t}(a, b, c, round_{rounding})")
        define(f"min.{t}", t, f"{t} {t}", f"least_{t}(a, b)")
        define(f"max.{t}", t, f"{t} {t}", f"greatest_{t}(a, b)")
        define(f"abs.{t}", t, t, f"size_{t}(a)")
        define(f"neg.{t}", t, t, "-a")
        define(f"copysign.{t}", t, f"{t} {t}", f"with_sign_{t}(b, a)")
        for property_, value in (("finite", "a - a == 0"), ("infinite", "a == a && a - a != 0"), ("number", "a == a"),
                                 ("notanumber", "a != a")):
            define(f"testp.{property_}.{t}", "pred", t, value)
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*")):
        define(f"{name}.rn.ftz.f32", "f32", "f32 f32", f"flushed(flushed(a) {sign} flushed(b))")
        define(f"{name}.ftz.f32", "f32", "f32 f32", f"flushed(flushed(a) {sign} flushed(b))", may_be_contracted=True)
    define("fma.rn.ftz.f32", "f32", "f32 f32 f32", "flushed(fma_f32(flushed(a), flushed(b), flushed(c)))")
    # Approximations of the hardware, which the manual bounds and does not define: here within these bounds.
    define("ex2.approx.f32", "f32", "f32", "exp2_f32(a)")
    define("ex2.approx.ftz.f32", "f32", "f32", "flushed(exp2_f32(flushed(a)))")
    define("lg2.approx.f32", "f32", "f32", "log2_f32(a)")
    define("lg2.approx.ftz.f32", "f32", "f32", "log2_f32(flushed(a))")
    define("sin.approx.f32", "f32", "f32", "sine_f32(a)")
    define("cos.approx.f32", "f32", "f32", "cosine_f32(a)")
    define("rcp.approx.ftz.f32", "f32", "f32", "flushed(1 / flushed(a))")
    define("rcp.approx.ftz.f64", "f64", "f64", "coarse_reciprocal(a)")


def define_comparisons():
    signs = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    comparisons = []
    for t in SIGNED + UNSIGNED:
        comparisons += [(name, t, f"a {sign} b") for name, sign in signs.items()]
    for t in UNSIGNED:
        of_unsigned = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
        comparisons += [(name, t, f"a {sign} b") for name, sign in of_unsigned.items()]
    for t in UNTYPED:
        comparisons += [(name, t, f"a {signs[name]} b") for name in ("eq", "ne")]
    for t in FLOATS:
        # An ordered comparison with NaN is false, an unordered one is true. C's != is unordered.
        comparisons += [(name, t, f"a {sign} b") for name, sign in signs.items() if name != "ne"]
        comparisons.append(("ne", t, "a < b || a > b"))
        comparisons += [(name + "u", t, f"!(a {signs[opposite]} b)") for name, opposite in
                        (("ne", "eq"), ("lt", "ge"), ("le", "gt"), ("gt", "le"), ("ge", "lt"))]
        comparisons.append(("equ", t, "!(a < b || a > b)"))
        comparisons += [("num", t, "a == a && b == b"), ("nan", t, "a != a || b != b")]
    for name, t, value in comparisons:
        define(f"setp.{name}.{t}", "pred", f"{t} {t}", value)
        for combine, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
            define(f"setp.{name}.{combine}.{t}", "pred", f"{t} {t} pred", f"({value}) {sign} c")
    for t in SIGNED + UNSIGNED + UNTYPED + FLOATS:
        define(f"selp.{t}", t, f"{t} {t} pred", "c ? a : b")


def define_conversions():
    integers = ("s8", "u8") + SIGNED + UNSIGNED
    for source in integers:
        for to in integers:
            if source != to:  # chopped, or extended as the source's type says, and C does both
                define(f"cvt.{to}.{source}", to, source, f"({to})a")
        for to in FLOATS:
            define(f"cvt.rn.{to}.{source}", to, source, f"({to})a")
    whole = {"rni": "nearest_whole", "rzi": "whole_toward_zero", "rmi": "whole_below", "rpi": "whole_above"}
    for source in FLOATS:
        for rounding, function in whole.items():
            for to in ("s32", "u32", "s64", "u64"):
                # The manual's value of a NaN: 0, or the sign bit alone where one of the two has 64 bits.
                nan = 0 if source == "f32" and BYTES[to] == 4 else 1 << (8 * BYTES[to] - 1)
                define(f"cvt.{rounding}.{to}.{source}", to, source,
                       f"a == a ? saturated_{to}({function}_{source}(a)) : ({to}){nan}ull")
            define(f"cvt.{rounding}.{source}.{source}", source, source, f"{function}_{source}(a)")
        define(f"cvt.sat.{source}.{source}", source, source, "a > 0 ? a < 1 ? a : 1 : 0")
    define("cvt.f64.f32", "f64", "f32", "(f64)a")
    define("cvt.rn.f32.f64", "f32", "f64", "(f32)a")
    for rounding in ("rz", "rm", "rp"):
        define(f"cvt.{rounding}.f32.f64", "f32", "f64", f"narrowed(a, round_{rounding})")


define_arithmetic_of_integers()
define_sums_with_carry()
define_bits()
define_arithmetic_of_floats()
define_comparisons()
define_conversions()
