"""e^x in float32 for numba's loops; the compiler can compute 8 or 16 numbers at a time.

`np.exp` in a numba loop calls the C library once for every number. This is arithmetic only, without
a call or a branch: with x = n ln 2 + r and |r| <= ln 2 / 2, e^x is 2^n e^r. 2^n is a float32 with n
in its exponent bits, and e^r a polynomial. (Moshier, Cephes library, expf)
"""

import numba
import numpy as np

LOWEST, HIGHEST = np.float32(-87.0), np.float32(88.3)  # beyond: 0, and infinity
LOG2_E = np.float32(1.44269504)
LN2, LN2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)  # n * LN2 is exact
ONE, HALF = np.float32(1.0), np.float32(0.5)
C3, C4, C5 = np.float32(1.6666665459e-1), np.float32(4.1665795894e-2), np.float32(8.3334519073e-3)
C6, C7 = np.float32(1.3981999507e-3), np.float32(1.9875691500e-4)
BIAS, EXPONENT_BITS = np.int32(127), np.int32(23)  # float32: 1 sign, 8 exponent, 23 fraction bits


# Without "reassoc": x - n LN2 - n LN2_REST must stay in that order, or its last digits are lost.
@numba.njit(fastmath={"contract"}, error_model="numpy")
def exp(x: np.float32) -> np.float32:
    """e^x, relative error at most 2e-7. 0 below -87 (e^-87 is 1.6e-38), infinity above 88.3."""
    inside = x if x > LOWEST else LOWEST
    inside = inside if inside < HIGHEST else HIGHEST
    n = np.floor(inside * LOG2_E + HALF)
    r = x - n * LN2 - n * LN2_REST
    series = ((((C7 * r + C6) * r + C5) * r + C4) * r + C3) * r + HALF
    power = np.int32((np.int32(n) + BIAS) << EXPONENT_BITS).view(np.float32)
    result = (series * r * r + r + ONE) * power
    result = result if not x < LOWEST else np.float32(0)  # `not <`, so that NaN stays NaN
    return result if not x > HIGHEST else np.float32(np.inf)
