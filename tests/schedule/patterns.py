"""Patterns of real models, and the least number of elements that can be read plus written for each.

The least: every element of an input that a result depends on is read once, every element of a result is written once, nothing else
moves; an i64 counts as two elements. (name, graph, least); `least` may be a formula in the sizes at their hints. What TorchInductor
counts for the same graphs is in torch_counts.json."""

PATTERNS = [
    (
        "row sum and cos",
        """graph p {
input x: f32[10, 10]
a = sum(x, [1])
b = cos(x)
output a, b
}
""",
        210,
    ),
    (
        "full sum and row amax",
        """graph p {
input x: f32[10, 10]
a = sum(x)
b = amax(x, [1])
output a, b
}
""",
        111,
    ),
    (
        "row sum and row amax",
        """graph p {
input x: f32[10, 10]
a = sum(x, [1])
b = amax(x, [1])
output a, b
}
""",
        120,
    ),
    (
        "cos, row sum, cos",
        """graph p {
input x: f32[10, 10]
a = cos(x)
b = sum(a, [1])
c = cos(b)
output c
}
""",
        110,
    ),
    (
        "softmax",
        """graph p {
input x: f32[10, 10]
a = softmax(x, -1)
output a
}
""",
        200,
    ),
    (
        "log_softmax",
        """graph p {
input x: f32[10, 10]
a = log_softmax(x, -1)
output a
}
""",
        200,
    ),
    (
        "layer_norm",
        """graph p {
input x: f32[10, 10]
input w: f32[10]
input b: f32[10]
a = layer_norm(x, [10], w, b)
output a
}
""",
        220,
    ),
    (
        "a + b.t()",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = permute(b, [1, 0])
d = add(a, c)
output d
}
""",
        300,
    ),
    (
        "dst = cat([a, b])",
        """graph p {
input dst: f32[20]
input a: f32[10]
input b: f32[10]
c = cat([a, b])
mutate dst = c
}
""",
        40,
    ),
    (
        "softmax over dim 0",
        """graph p {
input x: f32[10, 10]
a = softmax(x, 0)
output a
}
""",
        200,
    ),
    (
        "row and column sum",
        """graph p {
input x: f32[10, 10]
a = sum(x, [1])
b = sum(x, [0])
output a, b
}
""",
        120,
    ),
    (
        "row sum of x and cos of x.t()",
        """graph p {
input x: f32[10, 10]
a = sum(x, [1])
b = permute(x, [1, 0])
c = cos(b)
output a, c
}
""",
        210,
    ),
    (
        "x + 1 and x.t() * 2",
        """graph p {
input x: f32[10, 10]
a = add(x, 1)
b = permute(x, [1, 0])
c = mul(b, 2)
output a, c
}
""",
        300,
    ),
    (
        "norm chain",
        """graph p {
input a: f32[10, 10]
b = sum(a, [1], true)
c = mul(a, b)
d = sum(c, [1], true)
e = mul(c, d)
output e
}
""",
        200,
    ),
    (
        "double softmax",
        """graph p {
input x: f32[10, 10]
a = softmax(x, -1)
b = softmax(a, -1)
output b
}
""",
        200,
    ),
    (
        "softmax rows then columns",
        """graph p {
input x: f32[10, 10]
a = softmax(x, -1)
b = softmax(a, 0)
output b
}
""",
        200,
    ),
    (
        "softmax backward",
        """graph p {
input g: f32[10, 10]
input y: f32[10, 10]
a = mul(g, y)
b = sum(a, [1], true)
c = mul(y, b)
d = sub(a, c)
output d
}
""",
        300,
    ),
    (
        "log_softmax backward",
        """graph p {
input g: f32[10, 10]
input y: f32[10, 10]
b = sum(g, [1], true)
e = exp(y)
c = mul(e, b)
d = sub(g, c)
output d
}
""",
        300,
    ),
    (
        "layer_norm backward dx",
        """graph p {
input g: f32[10, 10]
input x: f32[10, 10]
input w: f32[10]
input mean: f32[10, 1]
input rstd: f32[10, 1]
xm = sub(x, mean)
xh = mul(xm, rstd)
gw = mul(g, w)
m1 = mean(gw, [1], true)
gx = mul(gw, xh)
m2 = mean(gx, [1], true)
t = mul(xh, m2)
u = sub(gw, m1)
v = sub(u, t)
d = mul(v, rstd)
output d
}
""",
        330,
    ),
    (
        "layer_norm backward, all",
        """graph p {
input g: f32[10, 10]
input x: f32[10, 10]
input w: f32[10]
input mean: f32[10, 1]
input rstd: f32[10, 1]
xm = sub(x, mean)
xh = mul(xm, rstd)
gw = mul(g, w)
m1 = mean(gw, [1], true)
gx = mul(gw, xh)
m2 = mean(gx, [1], true)
t = mul(xh, m2)
u = sub(gw, m1)
v = sub(u, t)
d = mul(v, rstd)
gh = mul(g, xh)
dw = sum(gh, [0])
db = sum(g, [0])
output d, dw, db
}
""",
        350,
    ),
    (
        "rms_norm",
        """graph p {
input x: f32[10, 10]
input w: f32[10]
s = square(x)
m = mean(s, [1], true)
e = add(m, 1e-6)
r = rsqrt(e)
a = mul(x, r)
b = mul(a, w)
output b
}
""",
        210,
    ),
    (
        "residual add, rms_norm, both kept",
        """graph p {
input x: f32[10, 10]
input y: f32[10, 10]
input w: f32[10]
z = add(x, y)
s = square(z)
m = mean(s, [1], true)
e = add(m, 1e-6)
r = rsqrt(e)
a = mul(z, r)
b = mul(a, w)
output z, b
}
""",
        410,
    ),
    (
        "rms_norm backward, all",
        """graph p {
input g: f32[10, 10]
input x: f32[10, 10]
input w: f32[10]
input rstd: f32[10, 1]
xh = mul(x, rstd)
gw = mul(g, w)
gx = mul(gw, xh)
m2 = mean(gx, [1], true)
t = mul(xh, m2)
v = sub(gw, t)
d = mul(v, rstd)
gh = mul(g, xh)
dw = sum(gh, [0])
output d, dw
}
""",
        330,
    ),
    (
        "bias gradient and relu backward",
        """graph p {
input g: f32[10, 10]
input y: f32[10, 10]
m = gt(y, 0)
z = where(m, g, 0.0)
b = sum(z, [0])
output z, b
}
""",
        310,
    ),
    (
        "gelu backward",
        """graph p {
input g: f32[10, 10]
input x: f32[10, 10]
a = mul(x, 0.7071)
e = erf(a)
c = add(e, 1)
d = mul(c, 0.5)
q = square(x)
r = mul(q, -0.5)
s = exp(r)
t = mul(s, 0.3989)
u = mul(x, t)
v = add(d, u)
w = mul(g, v)
output w
}
""",
        300,
    ),
    (
        "swiglu of one tensor",
        """graph p {
input x: f32[10, 20]
a, b = chunk(x, 2, 1)
c = silu(a)
d = mul(c, b)
output d
}
""",
        300,
    ),
    (
        "swiglu backward into one tensor",
        """graph p {
input g: f32[10, 10]
input a: f32[10, 10]
input b: f32[10, 10]
s = sigmoid(a)
m = mul(a, s)
db = mul(g, m)
o = neg(s)
t = add(o, 1)
u = mul(a, t)
v = add(u, 1)
w = mul(s, v)
x = mul(g, b)
da = mul(x, w)
y = cat([da, db], dim=1)
output y
}
""",
        500,
    ),
    (
        "cat of two pointwise",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = cos(a)
d = sin(b)
e = cat([c, d], dim=0)
output e
}
""",
        400,
    ),
    (
        "cat along the last dim",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = cos(a)
d = sin(b)
e = cat([c, d], dim=1)
output e
}
""",
        400,
    ),
    (
        "cat, and its part used too",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = cos(a)
e = cat([c, b], dim=1)
f = sum(c, [1])
output e, f
}
""",
        410,
    ),
    (
        "cat of softmax and x",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = softmax(a, -1)
e = cat([c, b], dim=1)
output e
}
""",
        400,
    ),
    (
        "cat of two linears with what follows",
        """graph p {
input x: f32[10, 20]
input w1: f32[10, 20]
input b1: f32[10]
input w2: f32[30, 20]
a = linear(x, w1, b1)
b = relu(a)
c = linear(x, w2)
d = cat([b, c], dim=1)
output d
}
""",
        "200 + 40 * 20 + 10 + 400",
    ),
    (
        "cat of two convolutions, read by a third",
        """graph p {
input x: f32[2, 8, 6, 6]
input w1: f32[8, 8, 3, 3]
input w2: f32[16, 8, 1, 1]
input w3: f32[8, 24, 1, 1]
a = conv2d(x, w1, padding=[1, 1])
b = conv2d(x, w2)
c = cat([a, b], dim=1)
d = conv2d(c, w3)
output d
}
""",
        "2 * 8 * 36 + 8 * 72 + 16 * 8 + 8 * 24 + 2 * 8 * 36",
    ),
    (
        "dense layer: cat of x and a convolution of it",
        """graph p {
input x: f32[2, 8, 6, 6]
input w: f32[8, 8, 3, 3]
a = relu(x)
b = conv2d(a, w, padding=[1, 1])
c = cat([x, b], dim=1)
output c
}
""",
        "576 + 576 + 1152",
    ),
    (
        "stack of two products",
        """graph p {
input x: f32[10, 20]
input w1: f32[20, 10]
input w2: f32[20, 10]
a = matmul(x, w1)
b = matmul(x, w2)
c = stack([a, b], dim=1)
output c
}
""",
        "200 + 400 + 200",
    ),
    (
        "kv append",
        """graph p {
input cache: f32[2, 2, 10, 5]
input x: f32[2, 3, 20]
input w: f32[10, 20]
a = linear(x, w)
b = view(a, [2, 3, 2, 5])
c = transpose(b, 1, 2)
d = cat([cache, c], dim=2)
output d
}
""",
        "200 + 120 + 200 + 260",
    ),
    (
        "linear, split into q, k and v",
        """graph p {
input x: f32[10, 20]
input w: f32[30, 20]
a = linear(x, w)
q, k, v = split(a, 10, 1)
s = matmul(q, k)
o = matmul(s, v)
output o
}
""",
        "200 + 600 + 100",
    ),
    (
        "linear added to an input in place",
        """graph p {
input h: f32[10, 10]
input x: f32[10, 20]
input w: f32[10, 20]
a = linear(x, w)
b = add(h, a)
mutate h = b
}
""",
        600,
    ),
    (
        "softmax stored into an input",
        """graph p {
input x: f32[10, 10]
input y: f32[10, 10]
a = softmax(x, -1)
mutate y = a
}
""",
        200,
    ),
    (
        "changed in place, then read",
        """graph p {
input x: f32[10, 10]
input y: f32[10, 10]
a = add(x, 1)
b = mul(a, y)
mutate x = a
output b
}
""",
        400,
    ),
    (
        "sgd with momentum",
        """graph p {
input p: f32[10, 10]
input g: f32[10, 10]
input m: f32[10, 10]
a = mul(m, 0.9)
m1 = add(a, g)
b = mul(m1, 0.01)
p1 = sub(p, b)
mutate m = m1
mutate p = p1
}
""",
        500,
    ),
    (
        "split, three results",
        """graph p {
input x: f32[10, 30]
a, b, c = split(x, 10, 1)
d = cos(a)
e = sin(b)
f = tanh(c)
output d, e, f
}
""",
        600,
    ),
    (
        "split then cat",
        """graph p {
input x: f32[10, 20]
a, b = split(x, 10, 1)
c = neg(b)
d = cat([c, a], dim=1)
output d
}
""",
        400,
    ),
    (
        "rotary",
        """graph p {
input x: f32[10, 20]
input co: f32[10, 20]
input si: f32[10, 20]
a, b = split(x, 10, 1)
c = neg(b)
d = cat([c, a], dim=1)
e = mul(x, co)
f = mul(d, si)
h = add(e, f)
output h
}
""",
        800,
    ),
    (
        "rotary of q and k",
        """graph p {
input q: f32[2, 4, 10, 16]
input k: f32[2, 4, 10, 16]
input co: f32[10, 16]
input si: f32[10, 16]
a, b = split(q, 8, 3)
c = neg(b)
d = cat([c, a], dim=3)
e = mul(q, co)
f = mul(d, si)
h = add(e, f)
a1, b1 = split(k, 8, 3)
c1 = neg(b1)
d1 = cat([c1, a1], dim=3)
e1 = mul(k, co)
f1 = mul(d1, si)
h1 = add(e1, f1)
output h, h1
}
""",
        5440,
    ),
    (
        "mean and variance",
        """graph p {
input x: f32[10, 10]
a = mean(x, [1])
b = var(x, [1])
output a, b
}
""",
        120,
    ),
    (
        "standardise rows",
        """graph p {
input x: f32[10, 10]
a = mean(x, [1], true)
b = std(x, [1], keepdim=true)
c = sub(x, a)
d = div(c, b)
output d
}
""",
        200,
    ),
    (
        "standardise columns",
        """graph p {
input x: f32[10, 10]
a = mean(x, [0], true)
b = std(x, [0], keepdim=true)
c = sub(x, a)
d = div(c, b)
output d
}
""",
        200,
    ),
    (
        "batch_norm inference and relu",
        """graph p {
input x: f32[2, 5, 10]
input m: f32[5]
input v: f32[5]
input w: f32[5]
input b: f32[5]
y = batch_norm(x, w, b, m, v, false)
z = relu(y)
output z
}
""",
        220,
    ),
    (
        "group_norm",
        """graph p {
input x: f32[2, 4, 10]
input w: f32[4]
input b: f32[4]
y = group_norm(x, 2, w, b)
output y
}
""",
        168,
    ),
    (
        "max and argmax of rows",
        """graph p {
input x: f32[10, 10]
a = amax(x, [1])
b = argmax(x, 1)
output a, b
}
""",
        130,
    ),
    (
        "mse loss",
        """graph p {
input x: f32[10, 10]
input y: f32[10, 10]
d = sub(x, y)
s = square(d)
m = mean(s)
output m
}
""",
        201,
    ),
    (
        "cross entropy",
        """graph p {
input x: f32[10, 10]
input t: i64[10, 1]
a = log_softmax(x, -1)
b = gather(a, 1, t)
c = neg(b)
d = mean(c)
output d
}
""",
        121,
    ),
    (
        "logsumexp",
        """graph p {
input x: f32[10, 10]
a = logsumexp(x, [1])
output a
}
""",
        110,
    ),
    (
        "attention scores: scale, mask, softmax",
        """graph p {
input x: f32[2, 10, 10]
input m: f32[10, 10]
a = mul(x, 0.125)
b = add(a, m)
c = softmax(b, -1)
output c
}
""",
        500,
    ),
    (
        "causal softmax",
        """graph p {
input x: f32[2, 10, 10]
a = tril(x)
c = softmax(a, -1)
output c
}
""",
        400,
    ),
    (
        "embedding, positions, layer_norm",
        """graph p {
input i: i32[10]
input e: f32[100, 10]
input q: f32[10, 10]
input w: f32[10]
input b: f32[10]
x = embedding(e, i)
y = add(x, q)
z = layer_norm(y, [10], w, b)
output z
}
""",
        330,
    ),
    (
        "scatter rows with scale",
        """graph p {
input d: f32[20, 10]
input i: i32[10, 10]
input s: f32[10, 10]
t = mul(s, 2)
r = scatter_add(d, 0, i, t)
mutate d = r
}
""",
        400,
    ),
    (
        "broadcast both ways",
        """graph p {
input a: f32[10, 1]
input b: f32[1, 10]
c = add(a, b)
d = exp(c)
output d
}
""",
        120,
    ),
    (
        "outer and its row sums",
        """graph p {
input a: f32[10, 1]
input b: f32[1, 10]
c = mul(a, b)
d = sum(c, [1])
output c, d
}
""",
        130,
    ),
    (
        "view and permute between",
        """graph p {
input x: f32[10, 12]
a = cos(x)
b = view(a, [10, 3, 4])
c = permute(b, [1, 0, 2])
d = sin(c)
output d
}
""",
        240,
    ),
    (
        "transposed add, then row sum",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = permute(b, [1, 0])
d = add(a, c)
e = sum(d, [1])
output e
}
""",
        210,
    ),
    (
        "column sum of a product",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = mul(a, b)
e = sum(c, [0])
output e
}
""",
        210,
    ),
    (
        "sum of rows, then centred columns",
        """graph p {
input x: f32[10, 10]
a = sum(x, [1], true)
b = sub(x, a)
c = sum(b, [0])
output c
}
""",
        110,
    ),
    (
        "full mean subtracted",
        """graph p {
input x: f32[10, 10]
m = mean(x)
y = sub(x, m)
output y
}
""",
        200,
    ),
    (
        "full norm scaling",
        """graph p {
input x: f32[10, 10]
s = square(x)
t = sum(s)
r = rsqrt(t)
y = mul(x, r)
output y
}
""",
        200,
    ),
    (
        "adam step",
        """graph p {
input p: f32[10, 10]
input g: f32[10, 10]
input m: f32[10, 10]
input v: f32[10, 10]
a = mul(m, 0.9)
b = mul(g, 0.1)
m1 = add(a, b)
c = square(g)
d = mul(v, 0.99)
e = mul(c, 0.01)
v1 = add(d, e)
h = sqrt(v1)
i = add(h, 1e-8)
j = div(m1, i)
k = mul(j, 0.001)
p1 = sub(p, k)
mutate p = p1
mutate m = m1
mutate v = v1
}
""",
        700,
    ),
    (
        "two independent pointwise of one shape",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = cos(a)
d = sin(b)
output c, d
}
""",
        400,
    ),
    (
        "cumsum of a product",
        """graph p {
input a: f32[10, 10]
input b: f32[10, 10]
c = mul(a, b)
d = cumsum(c, 1)
output d
}
""",
        300,
    ),
    (
        "cumsum, then scaled",
        """graph p {
input a: f32[10, 10]
d = cumsum(a, 1)
e = mul(d, 2)
output e
}
""",
        200,
    ),
    (
        "cumsum of a softmax",
        """graph p {
input a: f32[10, 10]
s = softmax(a, -1)
d = cumsum(s, 1)
output d
}
""",
        200,
    ),
    (
        "cumsum over dim 0, then scaled",
        """graph p {
input a: f32[10, 10]
input w: f32[10]
d = cumsum(a, 0)
e = mul(d, w)
output e
}
""",
        210,
    ),
    (
        "cumsum of a layer_norm, and its row sum",
        """graph p {
input x: f32[10, 10]
input w: f32[10]
input b: f32[10]
y = layer_norm(x, [10], w, b)
d = cumsum(y, 1)
e = mul(d, 0.5)
s = sum(d, [1])
output e, s
}
""",
        230,
    ),
    (
        "top-p mask of sorted logits",
        """graph p {
input x: f32[10, 10]
s = softmax(x, -1)
c = cumsum(s, 1)
b = sub(c, s)
z = gt(b, 0.9)
r = where(z, 0.0, x)
output r
}
""",
        200,
    ),
    (
        "cumsum normalised by the row's sum",
        """graph p {
input x: f32[10, 10]
e = exp(x)
t = sum(e, [1], true)
d = cumsum(e, 1)
y = div(d, t)
output y
}
""",
        200,
    ),
    (
        "cummax, and the distance to it",
        """graph p {
input x: f32[10, 10]
v, i = cummax(x, 1)
d = sub(v, x)
m = amax(d, [1])
j = add(i, 1)
output m, j
}
""",
        310,
    ),
    (
        "positions from a padding mask",
        """graph p {
size B in [1, 100] hint 10
size S in [1, 1000] hint 10
input m: i64[B, S]
c = cumsum(m, 1)
p = sub(c, 1)
z = eq(m, 0)
r = masked_fill(p, z, 1)
n = sum(m, [1])
output r, n
}
""",
        '4*B*S + 2*B',
    ),
    (
        "linear and gelu",
        """graph p {
input x: f32[10, 10]
input w: f32[10, 10]
input b: f32[10]
y = linear(x, w, b)
z = gelu(y)
output z
}
""",
        310,
    ),
    (
        "linear of a silu product",
        """graph p {
input x: f32[10, 10]
input u: f32[10, 10]
input w: f32[10, 10]
a = silu(x)
c = mul(a, u)
y = linear(c, w)
output y
}
""",
        400,
    ),
    (
        "linear of an rms_norm",
        """graph p {
input x: f32[10, 10]
input n: f32[10]
input w: f32[10, 10]
s = square(x)
m = mean(s, [1], true)
e = add(m, 1e-6)
r = rsqrt(e)
a = mul(x, r)
b = mul(a, n)
y = linear(b, w)
output y
}
""",
        310,
    ),
    (
        "linear, residual, layer_norm",
        """graph p {
input x: f32[10, 10]
input w: f32[10, 10]
input r: f32[10, 10]
input n: f32[10]
input b: f32[10]
y = linear(x, w)
z = add(y, r)
u = layer_norm(z, [10], n, b)
output u
}
""",
        420,
    ),
    (
        "q, k, v of one input",
        """graph p {
input x: f32[10, 10]
input q: f32[10, 10]
input k: f32[10, 10]
input v: f32[10, 10]
a = linear(x, q)
b = linear(x, k)
c = linear(x, v)
output a, b, c
}
""",
        700,
    ),
    (
        "max pool of relu",
        """graph p {
input x: f32[1, 2, 10, 10]
a = relu(x)
b = max_pool2d(a, [2, 2])
output b
}
""",
        250,
    ),
    (
        "global average pool of relu",
        """graph p {
input x: f32[2, 5, 10, 10]
a = relu(x)
b = mean(a, [2, 3])
output b
}
""",
        1010,
    ),
    (
        "pad of cos",
        """graph p {
input x: f32[10, 10]
a = cos(x)
b = constant_pad_nd(a, [1, 1])
output b
}
""",
        220,
    ),
    (
        "slice of a sum of two",
        """graph p {
input a: f32[10, 20]
input b: f32[10, 20]
c = add(a, b)
d = slice(c, 1, 0, 10)
e = cos(d)
output e
}
""",
        300,
    ),
    (
        "sum over the middle dim",
        """graph p {
input x: f32[10, 10, 10]
a = sum(x, [1])
output a
}
""",
        1100,
    ),
    (
        "sums over the first and the last dim",
        """graph p {
input x: f32[10, 10, 10]
a = sum(x, [0])
b = sum(x, [2])
output a, b
}
""",
        1200,
    ),
    (
        "symbolic rows: add, layer_norm",
        """graph p {
size B in [2, 100] hint 10
input x: f32[B, 10]
input y: f32[B, 10]
input w: f32[10]
input b: f32[10]
z = add(x, y)
a = layer_norm(z, [10], w, b)
output z, a
}
""",
        '40*B + 20',
    ),
    (
        "symbolic view and permute",
        """graph p {
size B in [2, 100] hint 10
size S in [2, 100] hint 10
input x: f32[B, S, 12]
a = cos(x)
b = view(a, [B, S, 3, 4])
c = permute(b, [0, 2, 1, 3])
d = sin(c)
output d
}
""",
        '24*B*S',
    ),
    (
        "kv cache step",
        """graph p {
size T in [2, 100] hint 16
input c: f32[2, 4, T, 8]
input k: f32[2, 4, 1, 8]
input at: i64[1]
r = index_copy(c, 2, at, k)
mutate c = r
}
""",
        130,
    ),
]

# Products whose operands are computed where they are loaded: TorchInductor hands these to a library, for which it stores operands.
PROLOGUES = [
    (
        "linear of a swiglu of one tensor",
        """graph p {
input x: f32[10, 20]
input w: f32[10, 10]
a, b = chunk(x, 2, 1)
c = silu(a)
d = mul(c, b)
y = linear(d, w)
output y
}
""",
        400,
    ),
    (
        "linear with quantised weights",
        """graph p {
input x: f32[16, 64]
input w: i8[32, 64]
input s: f32[32, 1]
a = cast(w, dtype=f32)
b = mul(a, s)
y = linear(x, b)
output y
}
""",
        1024 + 512 + 32 + 512,
    ),
    (
        "bf16 linear with quantised weights",
        """graph p {
input x: bf16[16, 64]
input w: i8[32, 64]
input s: f32[32, 1]
a = cast(w, dtype=f32)
b = mul(a, s)
c = cast(b, dtype=bf16)
y = linear(x, c)
output y
}
""",
        512 + 512 + 32 + 256,
    ),
    (
        "bf16 linear of a residual in f32",
        """graph p {
input h: f32[10, 16]
input r: f32[10, 16]
input w: bf16[8, 16]
a = add(h, r)
b = cast(a, dtype=bf16)
y = linear(b, w)
output y
}
""",
        160 + 160 + 64 + 40,
    ),
    (
        "both operands computed, gelu behind",
        """graph p {
input x: f32[10, 16]
input s: f32[16]
input w: f32[16, 8]
a = mul(x, s)
b = neg(w)
y = matmul(a, b)
z = gelu(y)
output z
}
""",
        160 + 16 + 128 + 80,
    ),
    (
        "scores of scaled queries",
        """graph p {
size B in [1, 9] hint 2
size S in [1, 100] hint 10
input q: f32[B, S, 16]
input k: f32[B, S, 16]
a = mul(q, 0.25)
t = transpose(k, 1, 2)
y = bmm(a, t)
output y
}
""",
        320 + 320 + 200,
    ),
    (
        "values of masked probabilities",
        """graph p {
input p: f32[2, 10, 12]
input m: f32[10, 12]
input v: f32[2, 12, 16]
a = mul(p, m)
y = bmm(a, v)
output y
}
""",
        240 + 120 + 384 + 320,
    ),
    (
        "gradient of a weight from silu's gradient",
        """graph p {
input g: f32[10, 8]
input x: f32[10, 8]
input h: f32[10, 16]
s = silu(x)
a = mul(g, s)
t = transpose(a, 0, 1)
y = matmul(t, h)
output y
}
""",
        80 + 80 + 160 + 128,
    ),
    (
        "linear of rows of a batch",
        """graph p {
size B in [1, 9] hint 2
size S in [1, 100] hint 10
input x: f32[B, S, 16]
input b: f32[16]
input w: f32[8, 16]
a = add(x, b)
c = relu(a)
y = linear(c, w)
output y
}
""",
        320 + 16 + 128 + 160,
    ),
]

# What works on the same rows: what changes its input in place, scans beside and behind one another, and what comes before and
# after a sort. (name, statements, least); one kernel each.
ROWS = [
    ("softmax in place", "input x: f32[10, 10]; y = softmax(x, -1); mutate x = y", 200),
    ("residual added in place, layer_norm", "input x: f32[10, 10]; input y: f32[10, 10]; input w: f32[10]; input b: f32[10]; z = add(x, y); a = layer_norm(z, [10], w, b); mutate x = z; output a", 420),
    ("running mean, centred in place", "input x: f32[10, 100]; input m: f32[10]; a = mean(x, [1]); b = mul(m, 0.9); c = mul(a, 0.1); d = add(b, c); o = unsqueeze(a, 1); q = sub(x, o); mutate m = d; mutate x = q", 2020),
    ("cumsum in place", "input x: f32[10, 10]; y = cumsum(x, 1); mutate x = y", 200),
    ("cumsum and cumprod", "input x: f32[10, 10]; a = cumsum(x, 1); b = cumprod(x, 1); output a, b", 300),
    ("cumsum of cumsum", "input x: f32[10, 10]; a = cumsum(x, 1); b = cumsum(a, 1); output b", 200),
    ("cumsum less its maximum", "input x: f32[10, 10]; a = cumsum(x, 1); m = amax(a, [1], true); b = sub(a, m); output b", 200),
    ("softmax of cumsum, cumsum again", "input x: f32[10, 10]; a = cumsum(x, 1); s = softmax(a, -1); b = cumsum(s, 1); output b", 200),
    ("pointwise, sort, pointwise", "input x: f32[10, 10]; a = mul(x, 2); v, i = sort(a, 1); b = mul(v, 3); output b", 200),
    ("argsort, gather", "input x: f32[10, 10]; input y: f32[10, 10]; i = argsort(x, 1); g = gather(y, 1, i); output g", 300),
    ("topk", "input x: f32[10, 64]; v, i = topk(x, 4); output v, i", 760),
    ("router: softmax, topk, renormalised", "input x: f32[10, 64]; s = softmax(x, -1); v, i = topk(s, 4); t = sum(v, [1], true); w = div(v, t); output w, i", 760),
    ("router: topk, softmax of the top values", "input x: f32[10, 64]; v, i = topk(x, 4); w = softmax(v, -1); output w, i", 760),
    ("top p: sort, softmax, cumsum, mask", "input x: f32[10, 100]; v, i = sort(x, 1, true); s = softmax(v, -1); c = cumsum(s, 1); k = lt(c, 0.9); m = where(k, s, 0); output m, i", 4000),
]  # fmt: skip
# Rows and columns of the same data, of sizes for which one kernel pays: it stores partial results of the columns, which a second one reads.
# (name, graph, least, elements of the partial results)
MIXED = [
    (
        "row sum and column sum",
        """graph p {
input x: f32[8192, 1024]
a = sum(x, [1])
b = sum(x, [0])
output a, b
}
""",
        8192 * 1024 + 8192 + 1024,
        256 * 1024,
    ),
    (
        "layer_norm backward, all, of many rows",
        """graph p {
input g: f32[8192, 768]
input x: f32[8192, 768]
input w: f32[768]
input mu: f32[8192, 1]
input rstd: f32[8192, 1]
xm = sub(x, mu)
xh = mul(xm, rstd)
gw = mul(g, w)
m1 = mean(gw, [1], true)
gx = mul(gw, xh)
m2 = mean(gx, [1], true)
t = mul(xh, m2)
u = sub(gw, m1)
v = sub(u, t)
d = mul(v, rstd)
gh = mul(g, xh)
dw = sum(gh, [0])
db = sum(g, [0])
output d, dw, db
}
""",
        3 * 8192 * 768 + 2 * 8192 + 3 * 768,
        2 * 256 * 768,
    ),
    (
        "rms_norm backward, all, of many rows",
        """graph p {
input g: f32[16384, 2048]
input x: f32[16384, 2048]
input w: f32[2048]
input rstd: f32[16384, 1]
xh = mul(x, rstd)
gw = mul(g, w)
gx = mul(gw, xh)
m2 = mean(gx, [1], true)
t = mul(xh, m2)
v = sub(gw, t)
d = mul(v, rstd)
gh = mul(g, xh)
dw = sum(gh, [0])
output d, dw
}
""",
        3 * 16384 * 2048 + 16384 + 2 * 2048,
        512 * 2048,
    ),
    (
        "softmax backward and bias gradient",
        """graph p {
input g: f32[8192, 1000]
input y: f32[8192, 1000]
p = mul(g, y)
s = sum(p, [1], true)
u = sub(g, s)
d = mul(y, u)
b = sum(d, [0])
output d, b
}
""",
        3 * 8192 * 1000 + 1000,
        256 * 1000,
    ),
    (
        "layer_norm backward, all, symbolic batch",
        """graph p {
size B in [1, 64] hint 16
size S in [1, 4096] hint 1024
input g: f32[B, S, 512]
input x: f32[B, S, 512]
input w: f32[512]
input mu: f32[B, S, 1]
input rstd: f32[B, S, 1]
xm = sub(x, mu)
xh = mul(xm, rstd)
gw = mul(g, w)
m1 = mean(gw, [2], true)
gx = mul(gw, xh)
m2 = mean(gx, [2], true)
t = mul(xh, m2)
u = sub(gw, m1)
v = sub(u, t)
d = mul(v, rstd)
gh = mul(g, xh)
dw = sum(gh, [0, 1])
db = sum(g, [0, 1])
output d, dw, db
}
""",
        3 * 16384 * 512 + 2 * 16384 + 3 * 512,
        2 * 512 * 512,
    ),
]

# Reductions of what a kernel computes from its rows: it takes a partial result per row, which a second kernel reduces. (name, statements, least,
# elements of the partial results)
LN = "input x: f32[512, 256]; input w: f32[256]; input b: f32[256]; h = layer_norm(x, [256], w, b); "
N = 512 * 256
STAGES = [
    ("layer_norm scaled, amax of all", LN + "a = abs(h); m = amax(a); s = mul(h, 2); output m, s", 2 * N + 512 + 1, 512),
    ("layer_norm, amax of all", LN + "a = abs(h); m = amax(a); output h, m", 2 * N + 512 + 1, 512),
    ("bf16 layer_norm scaled, amax of all", "input x: bf16[512, 256]; input w: bf16[256]; h = layer_norm(x, [256], w); a = abs(h); m = amax(a); s = mul(h, 2); "
     "output m, s", N + 128 + 0.5, 512),
    ("layer_norm, mean, norm and extremes of all", LN + "m = mean(h); q = square(h); t = sum(q); n = sqrt(t); u = amax(h); l = amin(h); output h, m, n, u, l",
     2 * N + 512 + 4, 4 * 512),
    ("layer_norm, variance of all", LN + "v, m = var_mean(h); output h, v, m", 2 * N + 512 + 2, 2 * 512),
    ("layer_norm, whether all is finite", LN + "f = isfinite(h); a = all(f); g = isnan(h); i = any(g); output h, a, i", 2 * N + 512 + 0.5, 2 * 128),
    ("layer_norm, gelu, amax of all, both kept", LN + "g = gelu(h); m = amax(g); output h, g, m", 3 * N + 512 + 1, 512),
    ("layer_norm, amax of its view", LN + "v = view(h, [131072]); m = amax(v); output h, m", 2 * N + 512 + 1, 512),
    ("layer_norm, divided by amax of all", LN + "a = abs(h); m = amax(a); y = div(h, m); output y", 4 * N + 512 + 2, 512),
    ("softmax, entropy of all", "input x: f32[512, 256]; p = softmax(x, -1); l = log(p); q = mul(p, l); s = sum(q); output p, s", 2 * N + 1, 512),
    ("softmax backward, norm of all", "input g: f32[512, 256]; input y: f32[512, 256]; p = mul(g, y); s = sum(p, [1], true); u = sub(g, s); d = mul(y, u); "
     "q = square(d); t = sum(q); n = sqrt(t); output d, n", 3 * N + 1, 512),
    ("group_norm, amax of all", "input x: f32[64, 32, 8, 8]; h = group_norm(x, 8); m = amax(h); output h, m", 2 * N + 1, 512),
    ("cumsum, amax of all", "input x: f32[512, 256]; c = cumsum(x, 1); m = amax(c); output c, m", 2 * N + 1, 512),
    ("loss of all and maxima of rows", "input x: f32[1024, 1024]; input t: f32[1024, 1024]; l = mse_loss(x, t); r = amax(x, [1]); output l, r",
     2 * 2**20 + 1024 + 1, 1024),
    ("relu kept, its row sums, amax of all", "input x: f32[512, 256]; y = relu(x); r = sum(y, [1]); a = amax(x); output y, r, a", 2 * N + 512 + 1, 512),
    ("symbolic rows: rms_norm, amax of all", "size B in [1, 100000] hint 512; input x: f32[B, 256]; s = square(x); m = mean(s, [1], true); e = add(m, 1e-6); "
     "r = rsqrt(e); h = mul(x, r); a = amax(h); output h, a", 2 * N + 1, 512),
]  # fmt: skip
# One pass stores elements and reduces all of them, in one kernel. (name, statements, least)
PASSES = [
    ("sum of two kept, amax of all", "input x: f32[1000, 1000]; input y: f32[1000, 1000]; z = add(x, y); a = abs(z); m = amax(a); output z, m", 3 * 10**6 + 1),
    ("gradient and its norm", "input g: f32[1000000]; input x: f32[1000000]; s = silu(x); d = mul(g, s); q = square(d); t = sum(q); n = sqrt(t); output d, n",
     3 * 10**6 + 1),
    ("exp and its variance", "input x: f32[1000000]; y = exp(x); v = var(y); output y, v", 2 * 10**6 + 1),
]  # fmt: skip


def each(text, n):
    """The lines once for each tensor: # is its number."""
    return "\n".join(text.replace("#", str(i)) for i in range(n))


def many(inputs, body, outputs, n):
    """Loops over many tensors: number i of n is f32[10, 10 + i % 4], so that sizes come again."""
    given = "\n".join(f"input {name}{i}: f32[10, {10 + i % 4}]" for i in range(n) for name in inputs)
    out = f"output {', '.join(f'{o}{i}' for i in range(n) for o in outputs)}\n" if outputs else ""
    return f"graph p {{\n{given}\n{each(body, n)}\n{out}}}\n"


def elements_of(n):
    return sum(10 * (10 + i % 4) for i in range(n))


ADAMW = """m#a = mul(m#, 0.9)
g#a = mul(g#, 0.1)
m#b = add(m#a, g#a)
g#b = square(g#)
v#a = mul(v#, 0.99)
g#c = mul(g#b, 0.01)
v#b = add(v#a, g#c)
r# = sqrt(v#b)
e# = add(r#, 1e-8)
u# = div(m#b, e#)
w# = mul(p#, 0.999)
s# = mul(u#, 0.001)
n# = sub(w#, s#)
mutate p# = n#
mutate m# = m#b
mutate v# = v#b"""

# Kernels that need nothing of each other: (name, graph, least, launches).
COMBOS = [
    ("add to 30 tensors", many("ab", "y# = add(a#, b#)", "y", 30), 3 * elements_of(30), 1),
    ("adamw of 12 tensors", many("pgmv", ADAMW, "", 12), 7 * elements_of(12), 1),
    ("lerp of 20 averaged tensors",
     many("ab", "d# = sub(b#, a#)\ne# = mul(d#, 0.1)\nn# = add(a#, e#)\nmutate a# = n#", "", 20), 3 * elements_of(20), 1),
    ("norms of 16 gradients", many("g", "q# = square(g#)\ns# = sum(q#)\nn# = sqrt(s#)", "n", 16), elements_of(16) + 16, 1),
    # Four tensors are scaled by the kernel that sums them; of the others sums go out and in, and the factor 12 times in.
    ("gradients of 16 tensors clipped by a common norm",
     many("g", "q# = square(g#)\ns# = sum(q#)", "", 16).rstrip("}\n") + "\nt0 = add(s0, s1)\n"
     + "\n".join(f"t{i} = add(t{i - 1}, s{i + 1})" for i in range(1, 15)) + "\nn = rsqrt(t14)\nc = clamp(n, max=1.0)\n"
     + each("y# = mul(g#, c)\nmutate g# = y#", 16) + "\n}\n", 3 * elements_of(16) - 4 * 130 + 12 + 12 + 1 + 12, 3),
    ("row sums of eight tensors", many("x", "s# = sum(x#, [1])", "s", 8), elements_of(8) + 80, 1),
    ("q, k and v", """graph p {
input x: f32[10, 20]
input q: f32[20, 20]
input k: f32[20, 20]
input v: f32[20, 20]
a = linear(x, q)
b = linear(x, k)
c = linear(x, v)
output a, b, c
}
""", 3 * (10 * 20 + 20 * 20 + 10 * 20), 1),
    ("heads of two tasks", """graph p {
input x: f32[10, 20]
input w: f32[7, 20]
input v: f32[5, 20]
a = linear(x, w)
b = softmax(a, -1)
c = linear(x, v)
d = sigmoid(c)
output b, d
}
""", 2 * 10 * 20 + 7 * 20 + 5 * 20 + 10 * 5 + 3 * 10 * 7, 2),
]  # fmt: skip
