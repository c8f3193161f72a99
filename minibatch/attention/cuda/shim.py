"""The only file that imports numba's CUDA, and the intrinsics that the kernels need besides.

numba-cuda replaces `numba.cuda` where it is installed; the kernels use only what both have. A
kernel is an undecorated function that uses these names. `gpu.py` compiles it. The kernel lab runs
the same source, with `cuda`, `math` and the functions below replaced by its own.

Kernels compute in float32, for every stored dtype. numba does not have torch's bfloat16: such
tensors arrive as int16, the upper half of a float32's bits.
"""

from llvmlite import ir
from numba import cuda, float32, int16, int32, int64, uint32
from numba.core import types
from numba.core.extending import intrinsic

__all__ = ["cuda", "float32", "int32", "int64", "load_16_bytes", "narrow", "uint32", "widen"]

_FLOAT, _HALF, _WORD, _SHORT = ir.FloatType(), ir.HalfType(), ir.IntType(32), ir.IntType(16)


@intrinsic
def widen(typing_context, number):
    """A stored number, as float32."""

    def generate(context, builder, signature, arguments):
        (stored,) = arguments
        if number == types.float16:
            return builder.fpext(builder.bitcast(stored, _HALF), _FLOAT)
        if number == int16:
            bits = builder.shl(builder.zext(stored, _WORD), _WORD(16))
            return builder.bitcast(bits, _FLOAT)
        return stored

    return float32(number), generate


@intrinsic
def narrow(typing_context, number, array):
    """A float32 in `array`'s dtype: rounded to nearest, ties to even; NaN stays NaN."""

    def generate(context, builder, signature, arguments):
        wide = arguments[0]
        if array.dtype == types.float16:
            half = builder.fptrunc(wide, _HALF)
            return builder.bitcast(half, context.get_value_type(types.float16))
        if array.dtype == int16:
            bits = builder.bitcast(wide, _WORD)
            odd = builder.and_(builder.lshr(bits, _WORD(16)), _WORD(1))
            rounded = builder.add(builder.add(bits, _WORD(0x7FFF)), odd)
            short = builder.trunc(builder.lshr(rounded, _WORD(16)), _SHORT)
            magnitude = builder.and_(bits, _WORD(0x7FFFFFFF))
            is_nan = builder.icmp_unsigned(">", magnitude, _WORD(0x7F800000))
            return builder.select(is_nan, _SHORT(0x7FC0), short)
        return wide

    return array.dtype(float32, array), generate


@intrinsic
def load_16_bytes(typing_context, array, index, into, at):
    """One 16-byte load from `array[index :]`, 4 float32 or 8 numbers of two bytes, to `into[at :]`
    as float32.

    array: one-dimensional, contiguous, its data and the index aligned to 16 bytes.
    into: a one-dimensional local array of float32.
    """

    def generate(context, builder, signature, arguments):
        source, target = (
            context.make_array(kind)(context, builder, argument)
            for kind, argument in zip(signature.args[::2], arguments[::2], strict=True)
        )
        stored = {float32: _FLOAT, types.float16: _HALF, int16: _WORD}[array.dtype]
        length = 8 if array.dtype == types.float16 else 4
        pointer = builder.bitcast(
            builder.gep(source.data, [arguments[1]]), ir.VectorType(stored, length).as_pointer()
        )
        vector = builder.load(pointer, align=16)
        numbers = [builder.extract_element(vector, _WORD(i)) for i in range(length)]
        if array.dtype == types.float16:
            numbers = [builder.fpext(half, _FLOAT) for half in numbers]
        elif array.dtype == int16:  # two to a word, the first in its lower half
            words = [
                bits
                for word in numbers
                for bits in (builder.shl(word, _WORD(16)), builder.and_(word, _WORD(0xFFFF0000)))
            ]
            numbers = [builder.bitcast(bits, _FLOAT) for bits in words]
        for i, number in enumerate(numbers):
            place = builder.add(arguments[3], arguments[3].type(i))
            builder.store(number, builder.gep(target.data, [place]))
        return context.get_dummy_value()

    return types.void(array, types.intp, into, types.intp), generate
