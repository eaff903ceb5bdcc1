/* ---- random numbers */

#define IND_OPS_RANDOM(X)                                                                                              \
    X(RAND, "rand", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                         \
    X(RANDN, "randn", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                       \
    X(RANDINT, "randint", "seed", "low:size=0 high:size size:sizes dtype:dtype=i64 stream:int=0", 1, "N")              \
    X(RANDPERM, "randperm", "seed", "n:size dtype:dtype=i64 stream:int=0", 1, "N")                                     \
    X(BERNOULLI, "bernoulli", "self seed", "stream:int=0", 1, "N")                                                     \
    X(NATIVE_DROPOUT, "native_dropout", "input seed", "p:float train:bool=true stream:int=0", 2, "N")                  \
    X(PHILOX, "philox", "key stream position", "first:int width:int", 1, "Pi") /* random bits: ind_philox */           \
    X(MULTINOMIAL, "multinomial", "self seed", "num_samples:size replacement:bool=false stream:int=0", 1, "N")

/* Random numbers without hidden state. Element e (row-major) of a result depends only on the seed (a tensor i64[]), the
   op's stream and e. It is the same on every device. It is computed from the bits of Philox 4x32-10 with key = seed,
   counter = (e, stream). Ops with equal seed and stream give equal numbers: use a different stream for each op and a
   different seed for each run.
     rand       in [0, 1): bits 40 to 63 * 2^-24 for f32, 53 to 63 * 2^-11 for f16, 56 to 63 * 2^-8 for bf16, 11 to 63 *
                2^-53 for f64
     randn      sqrt(-2 log u) cos(2 pi v) (Box and Muller 1958): u = (bits 40 to 63 + 1) * 2^-24, v = bits 104 to 127 *
                2^-24; f64 takes u from bits 11 to 63, v from bits 75 to 127, times 2^-53
     randint    low + (bits 0 to 62) mod (high - low); low < high must be provable
     randperm   0 to n - 1, sorted by bits 0 to 62 of each (stable)
     bernoulli  1 if a number as of rand in f32 (f64) is < self, a probability per element; else 0
     multinomial      samples by the weights of a row (f64). With replacement: the first whose prefix sum exceeds
                u * (their sum), u as of rand in f64 for each sample. Without: those with the largest weight / -log(v),
                in order, ties to the first (Efraimidis and Spirakis 2006); v = (bits 11 to 63 + 1) * 2^-53 per weight
     native_dropout   input / (1 - p) if a number as of rand in f32 is >= p, else 0; mask: bool, true if kept */
IND_API ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank,
                               ind_dtype dtype, int stream);
IND_API ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream);
IND_API ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream);
/* Bits [first, first + width) of Philox for this key, stream and position (all i64, broadcast), as a number >= 0. The
   ops above are built from it. width is in [1, 63]; the bits lie within one half of the 128. PyTorch has no such op. */
IND_API ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width);
/* num_samples positions, i64, for each row of weights. p has one or two dimensions. Weights must be finite and >= 0,
   one of them > 0; otherwise the samples are unspecified, but in range. Without replacement num_samples must be
   provably at most the length of a row; weights of 0 come last, where PyTorch raises. */
IND_API ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream);
/* train false: returns x and a mask of ones. mask may be NULL. */
IND_API ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream,
                                      ind_tensor *mask);
