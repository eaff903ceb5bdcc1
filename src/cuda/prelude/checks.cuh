// Checks of indices that come from data.
//@ INDEX
// Checks an index read from memory: one outside [0, size) is reported once and replaced by 0.
static IND_INLINE long long ind_index(long long i, long long size, unsigned long long id,
                                                      unsigned long long *error) {
    if (i >= 0 && i < size) return i;
    if (atomicCAS(error, 0ull, id) == 0ull) {
        error[1] = (unsigned long long)i;
        error[2] = (unsigned long long)size;
    }
    return 0;
}
// The same, with negative indices counted from the end.
static IND_INLINE long long ind_index_wrapped(long long i, long long size, unsigned long long id,
                                                              unsigned long long *error) {
    const long long at = i < 0 ? i + size : i;
    return at >= 0 && at < size ? at : ind_index(i, size, id, error);
}
// The same, where the caller reports them later: `outside` becomes true.
static IND_INLINE long long ind_index(long long i, long long size, unsigned long long, bool &outside) {
    const bool inside = i >= 0 && i < size;
    outside |= !inside;
    return inside ? i : 0;
}
static IND_INLINE long long ind_index_wrapped(long long i, long long size, unsigned long long id, bool &outside) {
    return ind_index(i < 0 ? i + size : i, size, id, outside);
}
