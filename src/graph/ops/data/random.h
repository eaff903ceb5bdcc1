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

/* Random numbers. Nothing is hidden: element e (row-major) of a result is a function of the seed (a tensor i64[]), the
   op's stream and e alone, the same on every device: the bits of Philox 4x32-10 with key = seed, counter = (e, stream).
   Ops with the same seed and stream give the same numbers; give each op a stream, each run a seed.
     rand       in [0, 1): bits 40 to 63 * 2^-24 for f32, 53 to 63 * 2^-11 for f16, 56 to 63 * 2^-8 for bf16, 11 to 63 *
                2^-53 for f64
     randn      sqrt(-2 log u) cos(2 pi v) (Box and Muller 1958): u = (bits 40 to 63 + 1) * 2^-24, v = bits 104 to 127 *
                2^-24; with f64 u from bits 11 to 63, v from bits 75 to 127, times 2^-53
     randint    low + (bits 0 to 62) mod (high - low); low < high must be known
     randperm   0 to n - 1 in the order of bits 0 to 62 of each (of equal ones the lower first)
     bernoulli  1 where a number as of rand in f32 (f64) is < self, a probability for each element; else 0
     multinomial  of the weights in a row (f64), with replacement the first whose running sum exceeds u * (their sum); u
   as of rand in f64 for each sample. Without, those with the largest weight / -log(v), in order, of equal ones the
   first (Efraimidis and Spirakis 2006): v = (bits 11 to 63 + 1) * 2^-53 for each weight native_dropout  input / (1 - p)
   where a number as of rand in f32 is >= p, else 0; mask: bool, where it was kept */
IND_API ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank,
                               ind_dtype dtype, int stream);
IND_API ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream);
IND_API ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream);
/* Bits [first, first + width) of Philox under that key, stream and position (all i64, broadcast), as a number >= 0:
   what the ops above are made of. width in [1, 63], within one half of the 128 bits. Not an op of PyTorch's. */
IND_API ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width);
/* num_samples positions, i64, for each row of weights (p has one or two dimensions; a weight is finite and not
   negative, one of them not 0: else what is drawn is unspecified, but in range). Without replacement num_samples must
   be known to be at most the length of a row; weights of 0 come last, where PyTorch raises. */
IND_API ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream);
/* train false: x and a mask of ones. mask may be NULL. */
IND_API ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream,
                                      ind_tensor *mask);
