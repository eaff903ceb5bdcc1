/* safetensors.h: a good file is read exactly, each kind of bad file is refused with a line that says what is wrong, and
 * no damaged file (every length, every byte changed) makes it touch memory it should not (the sanitizers watch). */
#include "safetensors.h"

#define PATH "build/tests/minilm/test.safetensors"

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

/* The file with this header and data_size bytes 0, 1, 2, ... Returns its size. */
static size_t build(char *bytes, const char *header, size_t data_size) {
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> (8 * i));
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data_size; i++) bytes[8 + length + i] = (char)i;
    return 8 + length + data_size;
}

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"a\\nb\":\"\"}, \"b\" : "
    "{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]},"
    "\"a\":{\"data_offsets\":[0,24],\"shape\":[2,3],\"dtype\":\"F32\"},"
    "\"\\u00e9\\ud83d\\ude00\\\"\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[24,24]}}   ";

static void test_good(void) {
    char bytes[1024], why[256] = "";
    safetensors file;
    write_bytes(bytes, build(bytes, good, 32));
    check(!safetensors_open(PATH, &file, why, sizeof why), "a good file is refused", why);
    const safetensors_tensor *a = safetensors_find(&file, "a"), *b = safetensors_find(&file, "b");
    const safetensors_tensor *e = safetensors_find(&file, "\xC3\xA9\xF0\x9F\x98\x80\"");
    check(file.num_tensors == 3 && a && b && e && !safetensors_find(&file, "c"), "names", "a tensor is missing");
    if (a && b && e) {
        check(a->rank == 2 && a->shape[0] == 2 && a->shape[1] == 3 && a->count == 6 && a->num_bytes == 24, "a",
              "wrong shape");
        check(!strcmp(a->dtype, "F32") && ((const char *)a->data)[23] == 23, "a", "wrong dtype or data");
        check(b->rank == 0 && b->count == 1 && ((const char *)b->data)[0] == 24, "b", "wrong shape or data");
        check(e->count == 0 && e->num_bytes == 0, "e", "not empty");
    }
    safetensors_close(&file);
    safetensors_close(&file);
}

#define T(name, dtype, shape, from, to)                                                                                \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

/* header, bytes of data, what the message must say */
static const struct bad {
    const char *header;
    size_t data_size;
    const char *why;
} bad[] = {
    {"", 0, "byte 0: '{' is wanted"},
    {"[]", 0, "byte 0: '{' is wanted"},
    {"{", 0, "\"name\": is wanted"},
    {"{}x", 0, "byte 2: the end is wanted"},
    {"{}", 4, "4 bytes at its end belong to no tensor"},
    {"{" T("a", "F32", "[1]", 0, 4) "", 4, "',' or '}' is wanted"},
    {"{" T("a", "F32", "[1]", 0, 4) ",}", 4, "\"name\": is wanted"},
    {"{" T("a", "F31", "[1]", 0, 4) "}", 4, "dtype F31, which is not known"},
    {"{" T("a", "F32", "[2]", 0, 4) "}", 4, "has 4 bytes, its dtype and shape need 8"},
    {"{" T("a", "F32", "[-1]", 0, 4) "}", 4, "shape is no list"},
    {"{" T("a", "F32", "[1.5]", 0, 4) "}", 4, "shape is no list"},
    {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "shape is no list of at most 8 sizes"},
    {"{" T("a", "F32", "[4294967296,4294967296]", 0, 4) "}", 4, "its shape is too large"},
    {"{" T("a", "F32", "[99999999999999999999]", 0, 4) "}", 4, "shape is no list"},
    {"{" T("a", "F32", "[1]", 0, 8) "}", 4, "lies at [0, 8), the file holds 4 bytes"},
    {"{" T("a", "F32", "[1]", 4, 0) "}", 4, "lies at [4, 0)"},
    {"{" T("a", "F32", "[1]", 0, 99999999999999999999) "}", 4, "data_offsets are no two offsets"},
    {"{" T("a", "F32", "[1]", 0, 4) "," T("b", "F32", "[1]", 0, 4) "}", 4, "overlaps another"},
    {"{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[2]", 4, 12) "}", 12, "overlaps another"},
    {"{" T("a", "F32", "[1]", 0, 4) "," T("b", "F32", "[1]", 8, 12) "}", 12, "tensor b follows a hole"},
    {"{" T("a", "F32", "[1]", 0, 4) "," T("a", "F32", "[1]", 4, 8) "}", 8, "tensor a stands there twice"},
    {"{" T("a", "U8", "[1]", 0, 1) "," T("b", "F32", "[1]", 1, 5) "}", 5, "byte 1, which is not aligned to its 4-byte"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks dtype, shape or data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "has twice dtype"},
    {"{\"a\":{\"colour\":3}}", 4, "has an unknown colour"},
    {"{\"a\":3}", 4, "an object is wanted"},
    {"{\"\\ud83d\":{}}", 0, "\"name\": is wanted"},
    {"{\"\\u0000\":{}}", 0, "\"name\": is wanted"},
    {"{\"a\nb\":{}}", 0, "\"name\": is wanted"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "\"name\": \"text\" is wanted"},
    {"{\"__metadata__\":[]}", 0, "an object after __metadata__ is wanted"},
};

static void test_bad_headers(void) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char bytes[1024], why[256] = "";
        safetensors file;
        write_bytes(bytes, build(bytes, bad[i].header, bad[i].data_size));
        check(safetensors_open(PATH, &file, why, sizeof why) == 1, "accepted", bad[i].header);
        check(strstr(why, bad[i].why) && strstr(why, PATH), bad[i].header, why);
        check(!file.tensors && !file.data, "not zeroed after an error", bad[i].header);
    }
}

static void test_bad_files(void) {
    char why[256] = "";
    safetensors file;
    check(safetensors_open("build/no/such/file", &file, why, sizeof why) && strstr(why, "cannot be opened"),
          "missing file", why);
    check(safetensors_open("tests", &file, why, sizeof why) && strstr(why, "cannot be read"), "a folder", why);
    write_bytes("abc", 3);
    check(safetensors_open(PATH, &file, why, sizeof why) && strstr(why, "3 bytes are no safetensors file"), "3 bytes",
          why);
    write_bytes("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10);
    check(safetensors_open(PATH, &file, why, sizeof why) && strstr(why, "18446744073709551615 bytes"), "long header",
          why);
    char small[12];
    check(safetensors_open("build/no/such/file", &file, small, sizeof small) && strlen(small) == 11, "a short buffer",
          small);
    check(safetensors_open("build/no/such/file", &file, NULL, 0) == 1, "no buffer", "");
}

/* Opens what was written and reads all the data of all tensors. */
static void open_and_touch(void) {
    char why[256];
    safetensors file;
    unsigned sum = 0;
    if (safetensors_open(PATH, &file, why, sizeof why)) return;
    for (size_t i = 0; i < file.num_tensors; i++)
        for (size_t k = 0; k < file.tensors[i].num_bytes; k++) sum += ((const unsigned char *)file.tensors[i].data)[k];
    check(sum == 31 * 32 / 2, "a changed file is read beyond its data", PATH);
    safetensors_close(&file);
}

static void test_damaged(void) {
    char bytes[1024];
    size_t size = build(bytes, good, 32);
    static const char changes[] = {0,   1,   '"', '\\', '{', '}',        '[',       ']',
                                   ',', ':', '0', '9',  'u', (char)0x80, (char)0xFF};
    for (size_t n = 0; n < size; n++) {
        write_bytes(bytes, n);
        open_and_touch();
    }
    for (size_t n = 0; n < size - 32; n++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            char kept = bytes[n];
            bytes[n] = changes[c];
            write_bytes(bytes, size);
            open_and_touch();
            bytes[n] = kept;
        }
    }
}

/* Several changes at once, from a fixed seed. */
static void test_random_damage(void) {
    char bytes[1024], changed[1024];
    size_t size = build(bytes, good, 32);
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 5000; round++) {
        memcpy(changed, bytes, size);
        for (int k = 0; k < 4; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64, Marsaglia 2003 */
            size_t to = state % (size - 32), from = (state >> 32) % (size - 32);
            changed[to] = k % 2 ? bytes[from] : (char)(state >> 24);
        }
        write_bytes(changed, size);
        open_and_touch();
    }
}

int main(void) {
    test_good();
    test_bad_headers();
    test_bad_files();
    test_damaged();
    test_random_damage();
    remove(PATH);
    return failures != 0;
}
