// Philox, the counter-based generator of random bits.
//@ PHILOX
// Half of the 128 bits of Philox 4x32-10 (Salmon et al. 2011).
template <int HALF> static IND_INLINE unsigned long long ind_philox(unsigned long long key, unsigned long long stream,
                                                                    unsigned long long position) {
    unsigned x0 = (unsigned)position, x1 = (unsigned)(position >> 32), x2 = (unsigned)stream, x3 = (unsigned)(stream >> 32);
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    #pragma unroll
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        const unsigned long long a = x0 * 0xd2511f53ull, b = x2 * 0xcd9e8d57ull;
        x0 = (unsigned)(b >> 32) ^ x1 ^ k0;
        x1 = (unsigned)b;
        x2 = (unsigned)(a >> 32) ^ x3 ^ k1;
        x3 = (unsigned)a;
    }
    return HALF ? x2 | (unsigned long long)x3 << 32 : x0 | (unsigned long long)x1 << 32;
}
