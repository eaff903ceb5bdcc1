"""Quantised formats in NumPy, from their definitions: blocks of bytes to float32. Run as a program, it compares them with the
package gguf (pip install gguf)."""

import numpy as np

# elements per block, bytes per block, offsets of the f16 numbers in it
FORMATS = {"f16": (1, 2, [0]), "bf16": (1, 2, []), "q8_0": (32, 34, [0]), "q4_0": (32, 18, [0]), "q4_1": (32, 20, [0, 2]), "q5_0": (32, 22, [0]),
           "q5_1": (32, 24, [0, 2]), "q2_k": (256, 84, [80, 82]), "q3_k": (256, 110, [108]), "q4_k": (256, 144, [0, 2]), "q5_k": (256, 176, [0, 2]),
           "q6_k": (256, 210, [208]), "iq4_nl": (32, 18, [0]), "iq4_xs": (256, 136, [0]), "mxfp4": (32, 16, []), "nvfp4": (16, 8, [])}
IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
HALVES = [0, 0x8000, 1, 0x83FF, 0x7C00, 0xFC00, 0x7E00, 0x3C00, 0xFBFF, 0x0400]  # zeros, subnormals, infinities, NaN, 1, the least, 2^-14


def halves(b, at):
    return np.ascontiguousarray(b[:, at : at + 2]).view(np.float16).astype(np.float32)


def elements(name, b):
    """The numbers of blocks b: u8[blocks, bytes]."""
    n = np.arange(FORMATS[name][0])
    part = lambda at, shift, mask: (b[:, at].astype(np.int32) >> shift) & mask  # noqa: E731
    f = lambda v: v.astype(np.float32)  # noqa: E731
    d = halves(b, FORMATS[name][2][0]) if FORMATS[name][2] else None
    nibble = lambda first: part(first + n % 16, 4 * (n // 16), 15)  # noqa: E731
    if name == "f16":
        return d
    if name == "bf16":
        return (np.ascontiguousarray(b).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if name == "q8_0":
        return d * f(b[:, 2:].view(np.int8))
    if name == "iq4_nl":
        return d * IQ4[nibble(2)]
    if name == "q4_0":
        return d * f(nibble(2) - 8)
    if name == "q4_1":
        return d * f(nibble(4)) + halves(b, 2)
    if name == "q5_0":
        return d * f((nibble(6) | part(2 + n // 8, n % 8, 1) << 4) - 16)
    if name == "q5_1":
        return d * f(nibble(8) | part(4 + n // 8, n % 8, 1) << 4) + halves(b, 2)
    pair = lambda first: part(first + n // 128 * 32 + n % 32, n % 128 // 32 * 2, 3)  # noqa: E731
    g = n // 16
    if name == "q2_k":
        return d * f(part(g, 0, 15)) * f(pair(16)) - halves(b, 82) * f(part(g, 4, 15))
    if name == "q3_k":
        s = (part(96 + g % 8, g // 8 * 4, 15) | part(104 + g % 4, g // 4 * 2, 3) << 4) - 32
        return d * f(s) * f(pair(32) - 4 * (1 - part(n % 32, n // 32, 1)))
    if name == "q6_k":
        q = (part(n // 128 * 64 + n % 64, n % 128 // 64 * 4, 15) | pair(128) << 4) - 32
        return d * f(b[:, 192:208].view(np.int8)[:, g]) * f(q)
    g = n // 32
    if name == "iq4_xs":
        s = (part(4 + g // 2, g % 2 * 4, 15) | part(2 + g // 4, g % 4 * 2, 3) << 4) - 32
        return d * f(s) * IQ4[part(8 + g * 16 + n % 16, n % 32 // 16 * 4, 15)]
    five, j = name == "q5_k", g % 4  # q4_k and q5_k
    s = np.where(g < 4, part(4 + j, 0, 63), part(12 + j, 0, 15) | part(4 + j, 6, 3) << 4)
    m = np.where(g < 4, part(8 + j, 0, 63), part(12 + j, 4, 15) | part(8 + j, 6, 3) << 4)
    q = part((48 if five else 16) + n // 64 * 32 + n % 32, g % 2 * 4, 15)
    if five:
        q |= part(16 + n % 32, g, 1) << 4
    return d * f(s) * f(q) - halves(b, 2) * f(m)


def e4m3(b):
    b = b.astype(np.int32)
    e, m = b >> 3 & 15, b & 7
    v = np.where(e == 0, m * 2.0**-9, (8 + m) * 2.0 ** (e - 10.0))
    return np.where((b & 127) == 127, np.nan, np.where(b >= 128, -v, v)).astype(np.float32)


def dequantise(name, q, extra, group):
    with np.errstate(all="ignore"):
        if name in ("int4", "mxfp4", "nvfp4"):
            n = np.stack([q & 15, q >> 4], -1).reshape(len(q), -1)
            step = {"int4": group, "mxfp4": 32, "nvfp4": 16}[name]
            s = np.repeat(extra["s"], step, -1)
            if name == "mxfp4":
                power = np.where(s == 255, np.nan, np.ldexp(1.0, s.astype(np.int32) - 127))
                return (E2M1[n].astype(np.float64) * power).astype(np.float32)
            if name == "nvfp4":
                v = E2M1[n] * e4m3(s)
                return v * extra["t"] if "t" in extra else v
            n = n.astype(np.int32)
            return s * (n - np.repeat(extra["z"], step, -1) if "z" in extra else (n ^ 8) - 8).astype(np.float32)
        return elements(name, q.reshape(-1, FORMATS[name][1])).reshape(len(q), -1)


def random_bytes(rng, name, rows, k, special=True):
    """Bytes of rows; special: rows of bytes 0 and of 255, and scales from HALVES. Otherwise the scales are moderate."""
    size, bytes_, at = FORMATS.get(name, (2, 1, []))
    q = rng.integers(0, 256, (rows, k // size, bytes_), np.uint8)
    for i in at:
        count = rows * (k // size)
        h = np.resize(np.array(HALVES, np.uint16), count) if special else rng.uniform(-0.01, 0.01, count).astype(np.float16).view(np.uint16)
        q[:, :, i : i + 2] = np.where(rng.random((count, 1)) < 0.5, rng.integers(0, 256, (count, 2)), h.view(np.uint8).reshape(-1, 2)).reshape(
            rows, -1, 2) if special else h.view(np.uint8).reshape(rows, -1, 2)
    if special:
        q[1], q[2] = 0, 255
    return q.reshape(rows, -1)


def scale_of(rng, name, rows, k, group, zero, special=True):
    if name == "int4":
        s = rng.standard_normal((rows, k // group)).astype(np.float32)
        s.flat[:4] = [np.inf, np.nan, 1e-40, -0.0]
        return {"s": s, **({"z": rng.integers(0, 16, s.shape, np.uint8)} if zero else {})}
    if name == "mxfp4":
        s = rng.integers(0, 256, (rows, k // 32), np.uint8) if special else rng.integers(115, 130, (rows, k // 32), np.uint8)
        if special:
            s.flat[:6] = [0, 1, 2, 253, 254, 255]
        return {"s": s}
    if name == "nvfp4":
        s = rng.integers(0, 256, (rows, k // 16), np.uint8)
        s.flat[:4] = [0, 127, 255, 1]
        return {"s": s, **({"t": np.array(0.3, np.float32)} if zero else {})}
    return {}


def main():
    from gguf import GGMLQuantizationType, quants

    for name in FORMATS:
        if name in ("mxfp4", "nvfp4"):
            continue  # gguf has other layouts of these
        rng = np.random.default_rng(1)
        q = random_bytes(rng, name, 64, 512)
        kind = {"f16": "F16", "bf16": "BF16"}.get(name, name.upper().replace("_K", "_K"))
        data = q.view(np.float16) if name == "f16" else q
        with np.errstate(all="ignore"):
            want = quants.dequantize(data, GGMLQuantizationType[kind])
        got = dequantise(name, q, {}, 32)
        assert ((got.view(np.uint32) == want.astype(np.float32).view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all(), name
        print(name, "agrees")


if __name__ == "__main__":
    main()
