/* npy.h: what is written reads back; each kind of bad file is refused with a line that says what is wrong; no damaged
 * file makes it touch memory it should not (the sanitizers watch). test_npy.py compares it with NumPy. */
#include "npy.h"

#define PATH "build/tests/minilm/test.npy"

static int failures;

static void check(bool ok, const char *what, const char *found) {
    if (ok) return;
    printf("%s: %s\n", what, found);
    failures++;
}

static void write_bytes(const char *bytes, size_t size) {
    FILE *file = fopen(PATH, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) check(false, "cannot write", PATH);
}

static size_t build(char *bytes, const char *header, size_t data_size) {
    size_t length = strlen(header);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, header, length);
    for (size_t i = 0; i < data_size; i++) bytes[10 + length + i] = (char)i;
    return 10 + length + data_size;
}

static void test_round_trip(void) {
    static const struct {
        int rank;
        int64_t shape[4];
    } shapes[] = {{0, {0}}, {1, {5}}, {1, {0}}, {2, {2, 3}}, {3, {4, 0, 2}}, {4, {1, 2, 1, 3}}};
    char data[64], why[256] = "";
    for (int i = 0; i < 64; i++) data[i] = (char)i;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        npy_array a;
        check(!npy_write(PATH, "f4", shapes[i].rank, shapes[i].shape, data, why, sizeof why), "write", why);
        check(!npy_read(PATH, &a, why, sizeof why), "read", why);
        check(a.rank == shapes[i].rank && !memcmp(a.shape, shapes[i].shape, (size_t)a.rank * 8) &&
                  !strcmp(a.descr, "f4"),
              "shape", "differs");
        check(a.data && !memcmp(a.data, data, (size_t)a.count * 4), "data", "differs");
        npy_free(&a);
        npy_free(&a);
    }
}

static void test_fortran_order(void) {
    char bytes[256], why[256] = "";
    npy_array a;
    write_bytes(bytes, build(bytes, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 6));
    check(!npy_read(PATH, &a, why, sizeof why), "fortran order", why);
    check(a.data && !memcmp(a.data, "\0\2\4\1\3\5", 6), "fortran order", "wrong data");
    npy_free(&a);
}

#define H(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static const char good[] = H("'<i2'", "False", "(2, 3)");

static const struct bad {
    const char *header;
    size_t data_size;
    const char *why;
} bad[] = {
    {H("'<i2'", "False", "(2, 3)"), 11, "cut short: 11 bytes of data, the shape needs 12"},
    {H("'<i2'", "False", "(2, 3)"), 13, "too long: 13 bytes of data, the shape needs 12"},
    {H("'>i2'", "False", "(2, 3)"), 12, "element type '>i2'; allowed are"},
    {H("'<c8'", "False", "(2, 3)"), 48, "element type '<c8'"},
    {H("'|O'", "False", "(2, 3)"), 48, "element type '|O'"},
    {H("''", "False", "(2, 3)"), 48, "element type ''"},
    {H("[('a', '<i2')]", "False", "(2, 3)"), 12, "structured or damaged descr"},
    {H("'<i2'", "Maybe", "(2, 3)"), 12, "neither True nor False"},
    {H("'<i2'", "False", "(2 3)"), 12, "no tuple"},
    {H("'<i2'", "False", "(6)"), 12, "no tuple"},
    {H("'<i2'", "False", "(-6,)"), 12, "no tuple"},
    {H("'<i2'", "False", "6"), 12, "no tuple"},
    {H("'<i2'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 2, "more than 16 dimensions"},
    {H("'<i2'", "False", "(4294967296, 4294967296)"), 12, "more elements than memory could hold"},
    {H("'<i2'", "False", "(99999999999999999999,)"), 12, "no tuple"},
    {H("'<i2'", "False", "(1000000000000,)"), 12, "cut short: 12 bytes"},
    {"{'descr': '<i2', 'shape': (6,)}", 12, "is missing"},
    {"{'descr': '<i2', 'descr': '<i2'}", 12, "repeated entry"},
    {"{'colour': '<i2'}", 12, "unknown entry"},
    {"{'descr': '<i2' 'shape': (6,)}", 12, "no comma"},
    {"", 12, "no dict"},
    {"{}", 12, "is missing"},
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (6,)} x", 12, "text after the dict"},
};

static void test_bad_headers(void) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char bytes[512], why[256] = "";
        npy_array a;
        write_bytes(bytes, build(bytes, bad[i].header, bad[i].data_size));
        check(npy_read(PATH, &a, why, sizeof why) == 1, "accepted", bad[i].header);
        check(strstr(why, bad[i].why) && strstr(why, PATH), bad[i].header, why);
        check(!a.data, "not zeroed after an error", bad[i].header);
    }
}

static void test_bad_files(void) {
    char why[256] = "";
    npy_array a;
    int64_t huge[] = {INT64_MAX, INT64_MAX}, one[] = {1};
    check(npy_read("build/no/such/file", &a, why, sizeof why) && strstr(why, "cannot be opened"), "missing file", why);
    check(npy_read("tests", &a, why, sizeof why) && strstr(why, "not an .npy file"), "a folder", why);
    write_bytes("\x93NUMPY\x04\x00\x01\x00{", 11);
    check(npy_read(PATH, &a, why, sizeof why) && strstr(why, ".npy version 4.0"), "version", why);
    write_bytes("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{", 13);
    check(npy_read(PATH, &a, why, sizeof why) && strstr(why, "header of 4294967295 bytes"), "long header", why);
    check(npy_write("build/no/such/file", "f4", 1, one, "abcd", why, sizeof why) && strstr(why, "cannot be written"),
          "bad path", why);
    check(npy_write(PATH, "c8", 1, one, "abcd", why, sizeof why) && strstr(why, "c8"), "bad type", why);
    check(npy_write(PATH, "f4", 2, huge, "abcd", why, sizeof why) && strstr(why, "memory"), "huge", why);
    check(npy_write("/dev/full", "f4", 1, one, "abcd", why, sizeof why) && strstr(why, "not a regular file"),
          "a device", why);
    check(npy_write("build/tests", "f4", 1, one, "abcd", why, sizeof why) && strstr(why, "not a regular file"),
          "a folder", why);
}

/* Opens what was written and reads all of it. */
static void open_and_touch(void) {
    char why[256];
    npy_array a;
    unsigned sum = 0;
    if (npy_read(PATH, &a, why, sizeof why)) return;
    for (int64_t i = 0; i < a.count * a.item_size; i++) sum += ((const unsigned char *)a.data)[i];
    check(sum != UINT32_MAX, "all bytes are read", PATH);
    npy_free(&a);
}

static void test_damaged(void) {
    char bytes[256];
    size_t size = build(bytes, good, 12);
    for (size_t n = 0; n < size; n++) {
        write_bytes(bytes, n);
        open_and_touch();
    }
    for (size_t n = 0; n < size - 12; n++) {
        for (int c = 0; c < 256; c++) {
            char kept = bytes[n];
            bytes[n] = (char)c;
            write_bytes(bytes, size);
            open_and_touch();
            bytes[n] = kept;
        }
    }
}

int main(void) {
    test_round_trip();
    test_fortran_order();
    test_bad_headers();
    test_bad_files();
    test_damaged();
    remove(PATH);
    return failures != 0;
}
