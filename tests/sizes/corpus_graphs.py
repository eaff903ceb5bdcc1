"""The graphs of the corpus: sequences of views as real models have them, on symbolic sizes, and models.

A tensor is written "B=4:64 S=128:4096%64 768": a dimension that is symbolic, with its value while tracing, its largest
value and what divides it; or a plain integer. Most sequences begin with a product by 2, so that they act on a loop and
not on a buffer.
"""

import torch
import torch.nn.functional as F

GRAPHS = {}  # name -> function that gives (function to compile, its inputs)


def tensor(spec, dtype=torch.float32):
    dims = []
    for d in spec.split():
        name, _, rest = d.rpartition("=")
        value, _, rest = rest.partition(":") if name else (rest, "", "")
        most, _, multiple = rest.partition("%")
        dims.append((int(value), int(most or 0), int(multiple or 1)))
    shape = [d[0] for d in dims]
    t = torch.zeros(shape, dtype=dtype) if dtype != torch.float32 else torch.randn(shape)
    for i, (_, most, _) in enumerate(dims):
        if most:
            torch._dynamo.mark_dynamic(t, i, min=2, max=most)
    return t, [(i, multiple) for i, (_, _, multiple) in enumerate(dims) if multiple > 1]


def graph(*variants, dtypes=()):
    """Decorator: one graph for each variant: the tensors, separated by ';', then '|' and integers."""

    def register(fn):
        for k, variant in enumerate(variants):

            def make(variant=variant):
                specs, _, numbers = variant.partition("|")
                made = [
                    tensor(s, dtypes[i] if i < len(dtypes) else torch.float32) for i, s in enumerate(specs.split(";"))
                ]
                numbers = [int(n) for n in numbers.split()]

                def checked(*tensors):
                    for x, (_, multiples) in zip(tensors, made):
                        for dim, multiple in multiples:
                            torch._check(x.shape[dim] % multiple == 0)
                    return fn(*tensors, *numbers)

                return checked, [t for t, _ in made]

            GRAPHS[f"{fn.__name__}.{k}" if len(variants) > 1 else fn.__name__] = make
        return fn

    return register


# ---- attention


@graph("B=4:64 S=128:4096 768", "B=4:64 128 768", "2 S=96:8192 384")
def attention_heads(x):
    b, s, c = x.shape
    q = (x * 2).view(b, s, 12, c // 12).transpose(1, 2)
    return q.reshape(b * 12, s, c // 12) + 1, q.transpose(2, 3).reshape(b, c, s) + 1


@graph("B=4:64 H=12:32 S=128:4096 64", "B=4:64 12 S=128:4096 D=64:256", "2 12 S=128:4096 64")
def attention_merge_heads(x):
    b, h, s, d = x.shape
    y = (x * 2).transpose(1, 2).reshape(b, s, h * d)
    return y + 1, y.reshape(b * s, h * d) + 1, y.reshape(-1) + 1


@graph("B=4:64 S=128:4096 2304", "B=4:64 S=128:4096 1152")
def qkv_split(x):
    b, s, c = x.shape
    heads = [t.reshape(b, s, c // 192, 64).transpose(1, 2) for t in (x * 2).chunk(3, dim=2)]
    return tuple(h.reshape(-1) + 1 for h in heads)


@graph("B=4:64 S=128:4096 C=2304:8192%3")
def qkv_unbind(x):
    b, s, c = x.shape
    q, k, v = (x * 2).view(b, s, 3, c // 3).unbind(2)
    return q.transpose(1, 2).reshape(-1) + 1, k.reshape(b, -1) + 1, v.reshape(-1) + 1


@graph("B=4:64 S=128:4096 2304", "B=4:64 S=196:4096 1152")
def qkv_permute(x):
    b, s, c = x.shape
    h = c // 3 // 64
    q, k, v = (x * 2).reshape(b, s, 3, h, 64).permute(2, 0, 3, 1, 4).unbind(0)
    return q.reshape(b * h, s, 64) + 1, k.transpose(-2, -1).reshape(b * h, 64, s) + 1, v.reshape(-1) + 1


@graph("B=4:64 S=128:4096 8 64", "B=4:64 S=128:4096 2 64")
def grouped_query_repeat(x):
    b, s, kv, d = x.shape
    k = (x * 2).transpose(1, 2)
    r = k[:, :, None].expand(b, kv, 4, s, d).reshape(b, kv * 4, s, d)
    return r + 1, r.reshape(b * kv * 4, s, d) + 1, r.transpose(1, 2).reshape(b, s, kv * 4 * d) + 1


@graph("B=4:64 S=256:8192%64 12 64 | 64", "B=4:64 S=256:8192%128 768 | 128", "B=2:32 S=512:8192%32 H=16:64 32 | 32")
def flash_blocks(x, block):
    b, s = x.shape[:2]
    y = (x * 2).reshape(b, s // block, block, -1)
    return y.transpose(1, 2).reshape(b, -1) + 1, y.permute(1, 0, 2, 3).reshape(s // block, -1) + 1


@graph("B=4:64 12 S=256:8192%64 64")
def flash_tiles(x):
    b, h, s, d = x.shape
    q = (x * 2).reshape(b * h, s // 64, 64, d)
    return q.transpose(0, 1).reshape(-1, 64, d) + 1, q.transpose(2, 3).reshape(b, h, s // 64 * d, 64) + 1


@graph("B=4:64 12 S=64:2048 S2=64:2048")
def relative_shift(x):
    """Transformer-XL: pad a column, reinterpret, drop a row."""
    b, h, q, k = x.shape
    p = F.pad(x * 2, (1, 0)).reshape(b, h, k + 1, q)
    return p[:, :, 1:].reshape(b, h, q, k) + 1


@graph("S=64:2048 S2=64:2048", "S=64:2048 64")
def t5_buckets(x):
    q, k = x.shape
    relative = torch.arange(k)[None, :] - torch.arange(q)[:, None]
    return (torch.where(relative > 0, 16, 0) + torch.clamp(relative.abs(), max=15)) * x.long()


@graph("B=4:64 H=12:32 S=128:4096 D=64:256%2", "B=4:64 12 S=128:4096 64")
def rotary_half(x):
    d = x.shape[-1]
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((-b, a), dim=-1) * 2


@graph("B=4:64 S=128:4096 12 64", "B=4:64 12 S=128:4096 D=64:256%2")
def rotary_interleaved(x):
    y = (x * 2).reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    z = torch.stack((-y[..., 1], y[..., 0]), dim=-1)
    return z.reshape(x.shape) + 1, z.flatten(2).reshape(x.shape[0], -1) + 1


@graph("B=4:64 H=8:32 L=1000:8192 64;B=4:64 H=8:32 N=16:512 64")
def kv_cache_cat(cache, new):
    y = torch.cat((cache, new), dim=2)
    b, h, s, d = y.shape
    return y * 2, (y * 2).transpose(1, 2).reshape(b, s, h * d) + 1


@graph("B=4:64 L=1024:8192 8 64")
def kv_cache_window(cache):
    y = (cache * 2)[:, -512:].transpose(1, 2)
    return y.reshape(-1) + 1, y.repeat_interleave(4, dim=1).reshape(-1, 64) + 1


@graph("B=4:64 L=1024:8192%16 8 64;B=4:64 N=16:512", dtypes=(torch.float32, torch.int64))
def kv_cache_paged(pages, table):
    b, l, h, d = pages.shape
    p = (pages * 2).reshape(b * (l // 16), 16, h, d)[table]
    return p.flatten(1, 2).transpose(1, 2).reshape(-1) + 1


@graph("B=4:64 S=128:4096;V=30522:60000 384", dtypes=(torch.int64,))
def embedding(ids, table):
    y = F.embedding(ids, table)
    return y * 2, (y * 2).reshape(ids.shape[0], ids.shape[1], 6, 64).transpose(1, 2).reshape(-1) + 1


# ---- vision transformers


@graph(
    "B=4:64 3 224 224 | 16",
    "B=4:64 3 H=224:1024%16 W=224:1024%16 | 16",
    "B=4:64 C=3:16 H=224:1024%14 W=224:1024%14 | 14",
)
def patch_embedding(x, p):
    b, c, h, w = x.shape
    y = (x * 2).reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5)
    return y.reshape(b, (h // p) * (w // p), c * p * p) + 1, y.reshape(-1, c * p * p) + 1


@graph("B=4:64 N=197:4097 768")
def class_token(x):
    y = (x * 2)[:, 1:]
    b, n, c = y.shape
    return y.transpose(1, 2).reshape(b * c, n) + 1, torch.cat((y[:, :1], x), 1).reshape(-1, c) + 1


@graph("B=4:64 H=56:224%7 W=56:224%7 96 | 7", "B=4:64 56 56 96 | 7", "B=4:64 H=56:224%8 W=56:224%8 C=96:512 | 8")
def window_partition(x, k):
    b, h, w, c = x.shape
    y = (x * 2).reshape(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5)
    return y.reshape(-1, k, k, c) + 1, y.reshape(-1, k * k, c) + 1


@graph("B=4:64 H=56:224%7 W=56:224%7 96 | 7", "B=4:64 56 56 96 | 7", "B=4:64 H=56:224%8 W=56:224%8 C=96:512 | 8")
def window_shift(x, k):
    b, h, w, c = x.shape
    y = torch.roll(x * 2, (-(k // 2), -(k // 2)), (1, 2)).reshape(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5)
    return (y.reshape(-1, k * k, c) + 1,)


@graph("B=4:64 8 8 7 7 96", "B=4:64 H=8:32 W=8:32 7 7 96")
def window_reverse(x):
    b, h, w, k, _, c = x.shape
    y = (x * 2).permute(0, 1, 3, 2, 4, 5).reshape(b, h * k, w * k, c)
    return torch.roll(y, (3, 3), (1, 2)).reshape(b, -1, c) + 1, y.reshape(b * h * k, w * k * c) + 1


@graph("B=4:64 H=56:224%2 W=56:224%2 96", "B=4:64 56 56 96")
def patch_merging(x):
    b, h, w, c = x.shape
    y = x * 2
    y = torch.cat((y[:, 0::2, 0::2], y[:, 1::2, 0::2], y[:, 0::2, 1::2], y[:, 1::2, 1::2]), -1)
    z = (x * 2).reshape(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 4, 2, 5).flatten(3)
    return y.reshape(b, -1, 4 * c) + 1, z.reshape(b, -1, 4 * c) + 1


@graph("B=4:64 N=196:4096 768")
def tokens_transposed(x):
    b, n, c = x.shape
    return (x * 2).transpose(1, 2).reshape(b * c, n) + 1, (x * 2).transpose(0, 1).reshape(n * b, c) + 1


@graph("B=4:64 196 768", "B=4:64 196 C=192:768")
def tokens_to_map(x):
    b, n, c = x.shape
    y = (x * 2).transpose(1, 2).reshape(b, c, 14, 14)
    return y + 1, F.pixel_unshuffle(y, 2) + 1


# ---- convolutional networks


@graph(
    "B=4:64 C=116:512%2 H=28:224 W=28:224 | 2",
    "B=4:64 116 28 28 | 2",
    "B=4:64 C=240:512%3 H=28:224 W=28:224 | 3",
    "B=4:64 240 H=28:224 W=28:224 | 3",
)
def channel_shuffle(x, g):
    b, c, h, w = x.shape
    y = (x * 2).reshape(b, g, c // g, h, w).transpose(1, 2).reshape(b, c, h, w)
    return y + 1, y[:, c // 2 :].reshape(b, -1) + 1, y.reshape(b, -1) + 1


@graph("B=4:64 64 H=32:256 W=32:256 | 2", "B=4:64 C=64:256%4 H=32:256 W=32:256 | 2", "B=4:64 C=81:256%9 32 32 | 3")
def pixel_shuffle(x, r):
    b, c, h, w = x.shape
    y = (x * 2).reshape(b, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(b, c // (r * r), h * r, w * r)
    return y + 1, y.flatten(2).transpose(1, 2).reshape(-1) + 1


@graph("B=4:64 C=16:256 H=32:256%2 W=32:256%2 | 2", "B=4:64 16 H=64:256%4 W=64:256%4 | 4")
def space_to_depth(x, r):
    b, c, h, w = x.shape
    y = (x * 2).reshape(b, c, h // r, r, w // r, r).permute(0, 3, 5, 1, 2, 4)
    return y.reshape(b, c * r * r, h // r, w // r) + 1, y.flatten(1).reshape(-1) + 1


@graph("B=4:64 32 H=32:256%2 W=32:256%2")
def depth_and_back(x):
    y = F.pixel_unshuffle(x * 2, 2)
    return F.pixel_shuffle(y + 1, 2) * 2, F.pixel_shuffle(F.pixel_unshuffle(x * 2, 2), 2).reshape(x.shape[0], -1) + 1


def im2col(x, k, stride, padding, dilation):
    b, c = x.shape[:2]
    x = F.pad(x * 2, (padding,) * 4) if padding else x * 2
    span = (k - 1) * dilation + 1
    y = x.unfold(2, span, stride).unfold(3, span, stride)[..., ::dilation, ::dilation]
    h, w = y.shape[2:4]
    columns = y.permute(0, 2, 3, 1, 4, 5)
    return columns.reshape(b * h * w, c * k * k) + 1, y.permute(0, 1, 4, 5, 2, 3).reshape(b, c * k * k, h * w) + 1


for K, STRIDE, PADDING, DILATION in (
    (3, 1, 1, 1),
    (3, 2, 1, 1),
    (7, 2, 3, 1),
    (3, 1, 2, 2),
    (1, 2, 0, 1),
    (5, 1, 2, 1),
    (3, 1, 0, 1),
    (4, 4, 0, 1),
):

    def convolution(x, k=K, s=STRIDE, p=PADDING, d=DILATION):
        return im2col(x, k, s, p, d)

    convolution.__name__ = f"im2col_{K}x{K}_s{STRIDE}_p{PADDING}_d{DILATION}"
    graph("B=4:64 C=16:512 H=56:256 W=56:256", "B=4:64 64 56 56")(convolution)


@graph("B=4:64 80 T=3000:6000", "B=4:64 C=80:128 T=300:6000")
def conv1d_columns(x):
    y = F.pad(x * 2, (1, 1)).unfold(2, 3, 2)
    b, c, t, k = y.shape
    return y.permute(0, 2, 1, 3).reshape(b * t, c * k) + 1, y.permute(0, 1, 3, 2).reshape(b, c * k, t) + 1


@graph("B=4:64 64 H=32:256 W=32:256", "B=4:64 C=64:512 32 32")
def upsample_nearest(x):
    b, c, h, w = x.shape
    y = (x * 2)[:, :, :, None, :, None].expand(b, c, h, 2, w, 2).reshape(b, c, h * 2, w * 2)
    return y + 1, y.reshape(b, c, -1) + 1, y.permute(0, 2, 3, 1).reshape(-1, c) + 1


@graph("B=4:64 64 H=32:256 W=32:256", "B=4:64 64 32 32")
def upsample_interpolate(x):
    return (
        F.interpolate(x * 2, scale_factor=2.0, mode="nearest") + 1,
        F.interpolate(x * 2, size=(x.shape[2] * 2, x.shape[3] * 2), mode="nearest") + 1,
    )


@graph("B=4:64 64 H=32:256%2 W=32:256%2", "B=4:64 64 H=33:256 W=33:256")
def max_pool(x):
    return F.max_pool2d(x * 2, 3, 2, 1), F.avg_pool2d(x * 2, 2), F.adaptive_avg_pool2d(x * 2, 1)


@graph("B=4:64 64 36 36", "B=4:64 C=64:512 13 13")
def adaptive_pool(x):
    return F.adaptive_avg_pool2d(x * 2, 6), F.adaptive_avg_pool2d(x * 2, (3, 5))


@graph("B=4:64 C=64:512%32 H=32:256 W=32:256", "B=4:64 320 H=32:256 W=32:256", "B=4:64 320 32 32")
def group_norm(x):
    return (F.group_norm(x * 2, 32).flatten(2).transpose(1, 2).reshape(-1) * 2,)


@graph("B=4:64 C=64:512%32 H=32:256 W=32:256")
def group_norm_by_hand(x):
    b, c, h, w = x.shape
    y = (x * 2).reshape(b, 32, c // 32 * h * w)
    z = (y - y.mean(2, keepdim=True)) * y.var(2, keepdim=True)
    return z.reshape(b, c, h, w) * 2, z.reshape(b, c, h, w).permute(0, 2, 3, 1).reshape(-1, c) + 1


@graph("B=4:64 C=64:512 H=32:256 W=32:256", "B=4:64 64 H=32:256 W=32:256")
def channels_last(x):
    b, c, h, w = x.shape
    y = (x * 2).permute(0, 2, 3, 1)
    return y.reshape(b, h * w, c) + 1, y.reshape(b * h, w * c) + 1, y.reshape(-1) + 1, y.reshape(b, h * w * c) + 1


@graph("B=4:64 64 H=32:256 W=32:256;B=4:64 32 H=32:256 W=32:256")
def skip_connection(x, y):
    z = torch.cat((x * 2, y + 1), 1)
    b, c, h, w = z.shape
    return z.reshape(b, 2, c // 2, h * w).transpose(1, 2).reshape(b, c, h * w) + 1, z.flatten(1) * 2


@graph("B=4:64 C=64:512 7 7")
def flatten_classifier(x):
    y = (x * 2).permute(0, 2, 3, 1)
    return y.flatten(1) + 1, y.reshape(-1, 7) + 1


# ---- shapes alone


@graph("A=4:64 B=6:64 C=10:64 D=14:64")
def reshape_chain(x):
    a, b, c, d = x.shape
    y = (x * 2).permute(3, 1, 0, 2)
    return (
        y.reshape(d * b, a * c) + 1,
        y.reshape(d, b * a * c) + 1,
        y.reshape(d * b * a, c) + 1,
        y.reshape(-1).reshape(a * b, c * d) + 1,
    )


@graph("A=8:64 B=6:64", "A=8:512%8 B=6:512%6")
def transpose_reshape(x):
    a, b = x.shape
    y = (x * 2).t()
    return y.reshape(a, b) + 1, y.reshape(-1).reshape(a, b).t().reshape(-1) + 1


@graph("A=8:512%8 B=6:512%6", "A=64:512%64 B=64:512%32")
def transpose_and_block(x):
    a, b = x.shape
    y = (x * 2).t()
    return y.reshape(b // 2, 2 * a) + 1, y.reshape(-1).reshape(a // 8, 8, b).permute(1, 0, 2).reshape(-1) + 1


@graph("B=4:64 N=24:512%4 C=32:512%8 | 4", "B=4:64 N=24:512%6 96 | 6")
def split_and_merge(x, k):
    b, n, c = x.shape
    y = (x * 2).reshape(b, k, n // k, 8, c // 8).permute(0, 3, 1, 4, 2)
    return y.reshape(b, 8 * k, -1) + 1, y.reshape(b * 8, n // k * c // 8 * k) + 1, y.reshape(-1) + 1


@graph("B=4:64 S=128:4096 384")
def strided_slices(x):
    y = (x * 2)[:, 3:, ::3]
    z = (x * 2)[:, ::2, 5::7]
    return (
        y.reshape(-1) + 1,
        y.transpose(1, 2).reshape(y.shape[0], -1) + 1,
        z.reshape(z.shape[0], -1) + 1,
        z.transpose(0, 1).reshape(-1) + 1,
    )


@graph("B=4:64 S=128:4096 C=384:1024")
def rolls(x):
    b, s, c = x.shape
    y = torch.roll(x * 2, 5, 1)
    return y + 1, y.transpose(1, 2).reshape(b, c * s) + 1, torch.roll(x * 2, (2, -3), (0, 2)).reshape(-1) + 1


@graph("B=4:64 S=128:4096 C=384:1024")
def flips(x):
    b, s, c = x.shape
    y = (x * 2).flip(1)
    return y.reshape(-1) + 1, y.transpose(1, 2).reshape(b, c * s) + 1, (x * 2).flip(1, 2).reshape(b * s, c) + 1


@graph("B=4:64 S=16:512 C=8:512", "B=4:64 S=16:512 64")
def repeats(x):
    b, s, c = x.shape
    y = (x * 2).repeat(2, 3, 1)
    z = (x * 2).repeat_interleave(3, dim=1)
    return (
        y.reshape(-1) + 1,
        y.transpose(1, 2).reshape(-1) + 1,
        z.reshape(b, 3 * s * c) + 1,
        (x * 2)[:, :, None].expand(b, s, 4, c).reshape(b, s * 4 * c) + 1,
    )


@graph("B=4:64 S=100:4096 C=384:1024;B=4:64 S2=28:4096 C=384:1024", "B=4:64 100 384;B=4:64 S=28:4096 384")
def cats(x, y):
    z = torch.cat((x * 2, y + 1), 1)
    b, s, c = z.shape
    return (
        z * 2,
        z.transpose(1, 2).reshape(-1) + 1,
        torch.cat((x * 2, x + 1), 2).reshape(-1) + 1,
        torch.stack((x * 2, x + 1), 1).reshape(-1) + 1,
    )


@graph("B=4:64 S=100:4096 384")
def pads(x):
    y = F.pad(x * 2, (0, 0, 4, 28))
    b, s, c = y.shape
    return y.reshape(-1) + 1, F.pad((x * 2).transpose(1, 2), (0, 12)).reshape(b, -1) + 1


@graph("T=1000:100000 384", "T=1000:100000 C=384:1024")
def padded_batches(x):
    return F.pad(x * 2, (0, 0, 0, 24)).reshape(-1) + 1, F.pad((x * 2).t(), (8, 16)).reshape(-1) + 1


@graph("T=1008:100000%16 C=384:1024%4")
def packed_tokens(x):
    """Token-packed rows into blocks of a batch."""
    t, c = x.shape
    y = (x * 2).reshape(t // 16, 16, c // 4, 4)
    return y.permute(0, 2, 1, 3).reshape(-1, 64) + 1, y.permute(2, 0, 3, 1).reshape(c // 4, -1) + 1


@graph("R=256:4096%32 C=256:4096%32", "B=4:64 R=256:4096%16 C=256:4096%16")
def block_sparse(x):
    k = 32 if x.dim() == 2 else 16
    r, c = x.shape[-2:]
    lead = x.shape[:-2]
    y = (x * 2).reshape(*lead, r // k, k, c // k, k).transpose(-3, -2)
    return (
        y.reshape(*lead, -1, k, k) + 1,
        y.reshape(*lead, -1) + 1,
        y.transpose(-2, -1).reshape(*lead, r // k * (c // k), k * k) + 1,
    )


@graph("B=4:64 S=256:8192%16 64 | 16", "B=4:64 S=256:8192%128 C=64:512%2 | 128")
def chunks_of_sequence(x, k):
    b, s, c = x.shape
    y = (x * 2).reshape(b, s // k, k, c)
    return (
        y.transpose(0, 1).reshape(s // k, b * k, c) + 1,
        y.transpose(2, 3).reshape(b * (s // k) * c, k) + 1,
        y.permute(2, 0, 1, 3).reshape(-1) + 1,
    )


@graph("B=4:64 S=16:512 S2=16:512", "S=16:512 64")
def diagonals(x):
    y = (x * 2).transpose(-1, -2)
    return y.diagonal(dim1=-2, dim2=-1) + 1, torch.tril(x * 2).reshape(-1) + 1, torch.triu(y, 1).reshape(-1) + 1


@graph("B=4:64 S=16:512 64;B=4:64 K=5:100", dtypes=(torch.float32, torch.int64))
def gathers(x, i):
    y = (x * 2).transpose(1, 2)
    z = torch.gather(y, 2, i[:, None, :].expand(-1, 64, -1))
    return (
        z.reshape(-1) + 1,
        (x * 2)[:, i[0]].reshape(x.shape[0], -1) + 1,
        (x * 2).reshape(-1, 64).index_select(0, i.reshape(-1)) + 1,
    )


@graph("B=4:64 S=64:4096 E=8:64;B=4:64 S=64:4096 512")
def experts(gate, x):
    b, s, e = gate.shape
    g = (gate * 2).reshape(b * s, e).t()
    y = (x * 2).reshape(b * s, 512)[None].expand(e, b * s, 512) * g[:, :, None]
    return y.reshape(-1) + 1, y.transpose(0, 1).reshape(b, s, e * 512) + 1


@graph("B=4:64 8 H=16:64 W=16:64 64")
def axial_attention(x):
    b, h, y, z, d = x.shape
    rows = (x * 2).permute(0, 2, 1, 3, 4).reshape(b * y, h, z, d)
    columns = (x * 2).permute(0, 3, 1, 2, 4).reshape(b * z, h, y * d)
    return rows + 1, columns + 1, rows.transpose(1, 2).reshape(b, y, z, h * d) + 1


@graph("B=4:64 T=8:64 3 H=64:256%8 W=64:256%8")
def video_tubes(x):
    b, t, c, h, w = x.shape
    y = (x * 2).reshape(b, t, c, h // 8, 8, w // 8, 8).permute(0, 1, 3, 5, 4, 6, 2)
    return y.reshape(b, t * (h // 8) * (w // 8), 8 * 8 * c) + 1, y.flatten(2).reshape(b * t, -1) + 1


@graph("B=4:64 12 S=128:4096%4 64")
def dilated_attention(x):
    b, h, s, d = x.shape
    y = (x * 2).reshape(b, h, s // 4, 4, d).transpose(2, 3)
    return y.reshape(b * h * 4, s // 4, d) + 1, y[:, :, 1:3].reshape(b, h, -1) + 1, y[..., ::2].reshape(b, -1, 32) + 1


@graph("B=4:64 S=64:4096 2048")
def gated_units(x):
    y = x * 2
    a, b = y.chunk(2, -1)
    c = y.reshape(*y.shape[:-1], 1024, 2)
    return (F.silu(a) * b).reshape(-1, 64) * 2, (c[..., 0] * c[..., 1]).reshape(x.shape[0], -1) + 1


# ---- models with random weights


def model(name, **sizes):
    def register(fn):
        GRAPHS[f"model_{name}"] = fn
        return fn

    return register


def ids(spec, most=1000):
    t, _ = tensor(spec, torch.int64)
    return t


def text_model(config_name, model_name, **options):
    import transformers

    config = getattr(transformers, config_name)(**options)
    config._attn_implementation = "eager"
    return getattr(transformers, model_name)(config).eval()


def first(outputs):
    return outputs[0]


@model("minilm")
def minilm():
    m = text_model(
        "BertConfig", "BertModel", hidden_size=384, num_hidden_layers=1, num_attention_heads=12, intermediate_size=1536
    )
    return lambda i: first(m(i, return_dict=False)), [ids("B=4:64 S=40:512")]


@model("gpt2")
def gpt2():
    m = text_model("GPT2Config", "GPT2Model", n_layer=1)
    return lambda i: first(m(i, use_cache=False, return_dict=False)), [ids("B=4:64 S=40:1024")]


@model("llama")
def llama():
    m = text_model(
        "LlamaConfig",
        "LlamaModel",
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=1,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=1000,
    )
    return lambda i: first(m(i, use_cache=False, return_dict=False)), [ids("B=4:64 S=40:2048")]


@model("t5")
def t5():
    m = text_model(
        "T5Config", "T5EncoderModel", d_model=256, d_kv=32, num_layers=1, num_heads=8, d_ff=512, vocab_size=1000
    )
    return lambda i: first(m(i, return_dict=False)), [ids("B=4:64 S=40:512")]


@model("whisper")
def whisper():
    m = text_model(
        "WhisperConfig",
        "WhisperModel",
        d_model=256,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
    )
    return lambda x: first(m.get_encoder()(x, return_dict=False)), [tensor("B=4:64 80 3000")[0]]


def timm_model(name, spec, **options):
    import timm

    m = timm.create_model(name, pretrained=False, **options).eval()
    return m, [tensor(spec)[0]]


for NAME, SPEC, OPTIONS in (
    ("vit_tiny_patch16_224", "B=4:64 3 224 224", {"depth": 1}),
    ("swin_tiny_patch4_window7_224", "B=4:64 3 224 224", {"depths": (2, 2)}),
    ("resnet18", "B=4:64 3 H=224:512%32 W=224:512%32", {}),
    ("mobilenetv3_small_100", "B=4:64 3 H=224:512%32 W=224:512%32", {}),
    ("maxvit_tiny_rw_224", "B=4:64 3 224 224", {}),
    ("pvt_v2_b0", "B=4:64 3 224 224", {}),
    ("halonet26t", "B=4:64 3 256 256", {}),
    ("botnet26t_256", "B=4:64 3 256 256", {}),
):
    GRAPHS[f"model_{NAME}"] = lambda n=NAME, s=SPEC, o=OPTIONS: timm_model(n, s, **o)


@model("shufflenet")
def shufflenet():
    import torchvision

    return torchvision.models.shufflenet_v2_x0_5(weights=None).eval(), [tensor("B=4:64 3 H=224:512%32 W=224:512%32")[0]]
