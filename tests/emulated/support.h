/*
 * What both fake libraries share: fault injection, counters, hashing, small file helpers.
 *
 * Each library has its own copy of the state and its own exported ind_emulation_fail() and ind_emulation_stats().
 */
#ifndef IND_EMULATION_SUPPORT_H
#define IND_EMULATION_SUPPORT_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace emulation {

/* FNV-1a, 64 bits. Two seeds give the 128 bits of a cache name. */
static inline uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed = 14695981039346656037ull) {
    const unsigned char *p = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < bytes; i++) {
        seed = (seed ^ p[i]) * 1099511628211ull;
    }
    return seed;
}

static inline std::string environment(const char *name, const std::string &otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static inline bool read_file(const std::string &path, std::string &out) {
    FILE *f = fopen(path.c_str(), "rb");
    if (!f) {
        return false;
    }
    char buffer[65536];
    size_t n;
    out.clear();
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) {
        out.append(buffer, n);
    }
    fclose(f);
    return true;
}

static inline bool write_file(const std::string &path, const void *data, size_t bytes) {
    FILE *f = fopen(path.c_str(), "wb");
    if (!f) {
        return false;
    }
    bool ok = fwrite(data, 1, bytes, f) == bytes;
    return fclose(f) == 0 && ok;
}

/*
 * One rule of a fault specification: "NAME:COUNT[+][:CODE]", separated by commas. The COUNT-th call of NAME (with '+',
 * every call from then on) fails with CODE. NAME may leave out the _v2 of the exported name; "any" counts every call of
 * the library.
 */
struct fault_rule {
    std::string name;
    unsigned long count = 0, seen = 0;
    bool onwards = false;
    int code = 0;

    bool matches(const char *function) const {
        size_t n = name.size();
        return name == "any" || name == function ||
               (strncmp(function, name.c_str(), n) == 0 && strncmp(function + n, "_v", 2) == 0);
    }
};

struct fault_plan {
    std::vector<fault_rule> rules;
    bool loaded = false;

    void set(const char *text) {
        loaded = true;
        rules.clear();
        std::string all = text ? text : "";
        for (size_t at = 0; at < all.size();) {
            size_t end = all.find(',', at);
            end = end == std::string::npos ? all.size() : end;
            add(all.substr(at, end - at));
            at = end + 1;
        }
    }

    /* The code to fail with, `otherwise` where the rule names none, 0 for none. */
    int strike(const char *function, int otherwise) {
        if (!loaded) {
            set(getenv("IND_EMULATION_FAIL"));
        }
        int code = 0;
        for (fault_rule &rule : rules) {
            if (rule.matches(function)) {
                rule.seen++;
                if (rule.seen == rule.count || (rule.onwards && rule.seen > rule.count)) {
                    code = rule.code ? rule.code : otherwise;
                }
            }
        }
        return code;
    }

  private:
    void add(const std::string &text) {
        size_t colon = text.find(':');
        if (colon == std::string::npos) {
            return;
        }
        fault_rule rule;
        char *end = nullptr;
        rule.name = text.substr(0, colon);
        rule.count = strtoul(text.c_str() + colon + 1, &end, 10);
        rule.onwards = *end == '+';
        end += rule.onwards;
        rule.code = *end == ':' ? atoi(end + 1) : 0;
        rules.push_back(rule);
    }
};

/* Places in the array that ind_emulation_stats() fills. The two libraries fill what they know and leave 0 in the rest.
 */
enum stat {
    STAT_LAUNCHES,    /* kernels run to their end, graph nodes included */
    STAT_BYTES,       /* device bytes allocated now */
    STAT_ALLOCATIONS, /* device and pinned allocations alive now */
    STAT_COMPILES,    /* nvrtcCompileProgram calls that succeeded */
    STAT_OBJECTS,     /* contexts, modules, streams, events and graphs alive now; in the fake NVRTC, programs */
    STAT_PEAK_BYTES,  /* most device bytes at once */
    STAT_ABANDONED,   /* allocations and objects that were alive when their context was destroyed */
    STAT_MISSES,      /* compiles that really ran the compiler */
    STAT_COUNT
};

} // namespace emulation

#endif
