/*
 * libnvrtc.so for a machine without a GPU: the NVRTC API in front of the host C++ compiler. The result is a shared
 * library that the fake driver (cuda.cc) loads as a module.
 *
 * The source is compiled as it is, after ind_emulation.h, but for two things:
 *   - `extern __shared__ T name[];` becomes a pointer to the launch's buffer, and `static __shared__` loses its doubled
 * static;
 *   - one entry for each `extern "C" __global__` function is appended.
 * Line numbers stay. No include folder is given, as NVRTC has none: a source with #include <...> does not compile.
 *
 * Environment, read at each compile:
 *   IND_EMULATION_CXX      the compiler, default c++
 *   IND_EMULATION_FLAGS    optimisation and checks. Default: "-O1 -g1 -fsanitize=address,undefined
 * -fno-sanitize-recover=undefined" where the process runs with AddressSanitizer, else "-O1" (a library built with it
 * cannot be loaded into another process) IND_EMULATION_CACHE    folder of compiled kernels, default cache/ beside this
 * library. Names are hashes of all that goes in; safe to delete. IND_EMULATION_FAIL     fault injection (support.h),
 * for the nvrtc calls IND_EMULATION_INCLUDE  folder of ind_emulation.h, default where this library was built from
 *   IND_EMULATION_TRACE    1: kernels report each access to memory, so that the driver finds accesses of a dependent
 * launch before its wait to what the previous launch writes. They are compiled without the sanitizers of
 * IND_EMULATION_FLAGS IND_EMULATION_SPILLS   a source with this text in it becomes a kernel that says it needs 64 bytes
 * of local memory
 *
 * >>types >>scan >>compiler >>cache >>api
 */
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <spawn.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "ind_emulation_abi.h"
#include "support.h"

#ifndef IND_EMULATION_SOURCE_DIR
#define IND_EMULATION_SOURCE_DIR "."
#endif

#define API extern "C" __attribute__((visibility("default"))) int

extern char **environ;

namespace {

using namespace emulation;

/* ---- >>types ----------------------------------------------------------------------------------------------------- */

#define RESULTS(_)                                                                                                     \
    _(SUCCESS, 0)                                                                                                      \
    _(ERROR_OUT_OF_MEMORY, 1)                                                                                          \
    _(ERROR_PROGRAM_CREATION_FAILURE, 2)                                                                               \
    _(ERROR_INVALID_INPUT, 3)                                                                                          \
    _(ERROR_INVALID_PROGRAM, 4)                                                                                        \
    _(ERROR_INVALID_OPTION, 5)                                                                                         \
    _(ERROR_COMPILATION, 6)                                                                                            \
    _(ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                                              \
    _(ERROR_INTERNAL_ERROR, 11)

enum result {
#define RESULT_VALUE(name, value) name = value,
    RESULTS(RESULT_VALUE)
};

struct program {
    std::string source, name, log, image, ptx;
};

struct compiler_state {
    std::mutex lock;
    std::set<program *> live;
    fault_plan faults;
    unsigned long long stats[STAT_COUNT] = {};
};

compiler_state &state() {
    static compiler_state *the_state = new compiler_state;
    return *the_state;
}

/* ---- >>scan: just enough of a C++ lexer to find kernels and dynamic shared memory ---------------------------------
 */

struct token {
    size_t begin, end;
    std::string text;
};

/* The end of the comment or literal that starts at `at`, or `at` where none does. */
size_t skip_opaque(const std::string &s, size_t at) {
    if (s.compare(at, 2, "//") == 0) {
        return std::min(s.find('\n', at), s.size());
    }
    if (s.compare(at, 2, "/*") == 0) {
        size_t end = s.find("*/", at + 2);
        return end == std::string::npos ? s.size() : end + 2;
    }
    if (s[at] != '"' && s[at] != '\'') {
        return at;
    }
    size_t end = at + 1;
    while (end < s.size() && s[end] != s[at]) {
        end += s[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, s.size());
}

bool in_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Identifiers and numbers, literals, and single characters; no comments. */
std::vector<token> tokenise(const std::string &s) {
    std::vector<token> tokens;
    for (size_t at = 0, end; at < s.size(); at = end) {
        end = skip_opaque(s, at);
        bool comment = end > at && s[at] == '/';
        while (end < s.size() && in_name(s[at]) && in_name(s[end])) {
            end++;
        }
        end = end == at ? at + 1 : end;
        if (!comment && !isspace((unsigned char)s[at])) {
            tokens.push_back(token{at, end, s.substr(at, end - at)});
        }
    }
    return tokens;
}

bool is_name(const token &t) {
    return isalpha((unsigned char)t.text[0]) || t.text[0] == '_';
}

/* The index after the parenthesis that closes the one at `at`. */
size_t after_parentheses(const std::vector<token> &t, size_t at) {
    int depth = 0;
    for (; at < t.size(); at++) {
        depth += t[at].text == "(" ? 1 : t[at].text == ")" ? -1 : 0;
        if (depth == 0) {
            return at + 1;
        }
    }
    return at;
}

struct kernel_found {
    std::string name, max_threads, cluster;
};

/* After __global__: the name before the parameter list, and the first arguments of __launch_bounds__ and
 * __cluster_dims__. */
bool read_kernel(const std::string &s, const std::vector<token> &t, size_t at, kernel_found &out) {
    out.max_threads = "1024";
    out.cluster = "1";
    while (at + 1 < t.size() && is_name(t[at])) {
        if (t[at + 1].text != "(") {
            at++;
            continue;
        }
        size_t after = after_parentheses(t, at + 1);
        if (t[at].text.compare(0, 2, "__") != 0) {
            out.name = t[at].text;
            return true;
        }
        if (t[at].text == "__launch_bounds__" || t[at].text == "__cluster_dims__") {
            size_t end = at + 2;
            while (end < after - 1 && t[end].text != ",") {
                end = t[end].text == "(" ? after_parentheses(t, end) : end + 1;
            }
            std::string &first = t[at].text == "__cluster_dims__" ? out.cluster : out.max_threads;
            first = s.substr(t[at + 2].begin, t[end].begin - t[at + 2].begin);
        }
        at = after;
    }
    return false;
}

/* Whether `extern "C"` stands before token `at` in the same declaration, or a block of it was opened earlier. */
bool has_c_linkage(const std::vector<token> &t, size_t at) {
    bool same = true;
    for (size_t i = at; i-- > 0;) {
        same = same && t[i].text != ";" && t[i].text != "}";
        if (t[i].text == "extern" && t[i + 1].text == "\"C\"" && (same || t[i + 2].text == "{")) {
            return true;
        }
    }
    return false;
}

std::vector<kernel_found> find_kernels(const std::string &s, const std::vector<token> &t) {
    std::vector<kernel_found> kernels;
    std::set<std::string> seen;
    for (size_t i = 0; i < t.size(); i++) {
        kernel_found k;
        if (t[i].text == "__global__" && has_c_linkage(t, i) && read_kernel(s, t, i + 1, k) &&
            seen.insert(k.name).second) {
            kernels.push_back(k);
        }
    }
    return kernels;
}

struct dynamic_array {
    std::string type, name;
    size_t last; /* index of the token that ends the declaration */
};

/* `extern __shared__ [__align__(N)] T name[];`, with the index of `extern`. */
bool read_dynamic_array(const std::vector<token> &t, size_t at, dynamic_array &out) {
    size_t i = at + 2;
    while (i + 1 < t.size() && t[i + 1].text != "[" && t[i].text != ";") {
        if (t[i].text == "__align__" || t[i].text == "alignas" || t[i].text == "__attribute__") {
            i = after_parentheses(t, i + 1);
        } else {
            out.type += t[i++].text + " ";
        }
    }
    if (i + 3 >= t.size() || t[i + 1].text != "[" || t[i + 2].text != "]" || t[i + 3].text != ";") {
        return false;
    }
    out.name = t[i].text;
    out.last = i + 3;
    return true;
}

size_t line_of(const std::string &s, size_t at) {
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += s[i] == '\n';
    }
    return line;
}

/*
 * Inside a function the array turns into a constant pointer. Outside, where there is no buffer yet when the library is
 * loaded, it turns into a macro, and so does one of the same name in a function further down.
 */
std::string dynamic_pointer(const dynamic_array &a, bool inside, size_t line, std::set<std::string> &macros) {
    std::string pointer = "((" + a.type + "*)::ind_emulation::now->dynamic_shared)";
    if (inside && !macros.count(a.name)) {
        return a.type + "*const " + a.name + " = " + pointer + ";";
    }
    macros.insert(a.name);
    return "\n#undef " + a.name + "\n#define " + a.name + " " + pointer + "\n#line " + std::to_string(line) + "\n";
}

/* The text that is really compiled. */
std::string rewrite(const std::string &s) {
    std::vector<token> t = tokenise(s);
    std::set<std::string> macros;
    std::string out;
    size_t copied = 0;
    int depth = 0;
    for (size_t i = 0; i + 1 < t.size(); i++) {
        bool linkage = i > 1 && t[i].text == "{" && t[i - 1].text == "\"C\"" && t[i - 2].text == "extern";
        depth += t[i].text == "{" && !linkage ? 1 : t[i].text == "}" && depth ? -1 : 0;
        if (t[i + 1].text != "__shared__") {
            continue;
        }
        dynamic_array a;
        if (t[i].text == "static") {
            out += s.substr(copied, t[i].begin - copied);
            copied = t[i].end;
        } else if (t[i].text == "extern" && read_dynamic_array(t, i, a)) {
            out += s.substr(copied, t[i].begin - copied);
            copied = t[a.last].end;
            out += dynamic_pointer(a, depth > 0, line_of(s, copied), macros);
        }
    }
    out += s.substr(copied) + "\n";
    const std::string beside = s.find("ind_yield_block") != std::string::npos ? "8" : "1";
    for (const kernel_found &k : find_kernels(s, t)) {
        out += "IND_EMULATION_KERNEL(" + k.name + ", (" + k.max_threads + "), (" + k.cluster + "), " + beside + ")\n";
    }
    return out;
}

/* ---- >>compiler -------------------------------------------------------------------------------------------------- */

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> words;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find(' ', at), text.size());
        if (end > at) {
            words.push_back(text.substr(at, end - at));
        }
        at = end + 1;
    }
    return words;
}

bool sanitized() {
    return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
}

std::string default_flags() {
    return sanitized() ? "-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" : "-O1";
}

/* A call before each access to memory, which ind_emulation.h defines. */
const char *const trace_flags = "-O1 -g1 -DIND_EMULATION_TRACE -fsanitize=kernel-address "
                                "--param=asan-instrumentation-with-call-threshold=0 --param=asan-stack=0 "
                                "--param=asan-globals=0";
const char *const clang_trace_flags = "-O1 -g1 -DIND_EMULATION_TRACE -fsanitize=kernel-address "
                                      "-mllvm -asan-instrumentation-with-call-threshold=0 -mllvm -asan-stack=0 "
                                      "-mllvm -asan-globals=0";

std::string chosen_flags(bool clang) {
    const bool traced = environment("IND_EMULATION_TRACE", "0") == "1";
    return traced ? clang ? clang_trace_flags : trace_flags : environment("IND_EMULATION_FLAGS", default_flags());
}

bool runs_fma() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* Fixed flags. CUDA code reinterprets memory freely, and its fused multiply-adds are explicit here: fmaf(), not
 * contraction. */
std::vector<std::string> base_command() {
    std::string compiler = environment("IND_EMULATION_CXX", "c++");
    std::vector<std::string> command = {compiler,
                                        "-std=c++17",
                                        "-w",
                                        "-fPIC",
                                        "-shared",
                                        "-fvisibility=hidden",
                                        "-nostdinc",
                                        "-nostdinc++",
                                        "-fno-strict-aliasing",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fno-omit-frame-pointer",
                                        "-ffp-contract=off",
                                        "-fsigned-char"};
    const bool clang = compiler.find("clang") != std::string::npos;
    for (const std::string &flag : split(chosen_flags(clang))) {
        command.push_back(flag);
    }
    if (!clang) {
        command.push_back("-fsanitize-sections=ind_shared"); /* red zones around __shared__ variables too */
    }
    if (runs_fma()) {
        command.push_back("-mfma");
    }
    return command;
}

/* The compiler must not inherit a preloaded sanitizer. */
std::vector<char *> clean_environment() {
    std::vector<char *> out;
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "ASAN_OPTIONS=", 13) != 0) {
            out.push_back(*e);
        }
    }
    out.push_back(nullptr);
    return out;
}

bool run_command(const std::vector<std::string> &command, const std::string &log_path) {
    std::vector<char *> arguments;
    for (const std::string &word : command) {
        arguments.push_back(const_cast<char *>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    int status = 1;
    bool started =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), clean_environment().data()) == 0;
    posix_spawn_file_actions_destroy(&actions);
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool starts_with(const std::string &text, const char *prefix) {
    return text.compare(0, strlen(prefix), prefix) == 0;
}

/* Options that change nothing on the host. */
bool is_ignored(const std::string &option) {
    static const char *const known[] = {"--std=",
                                        "-std=",
                                        "--fmad=",
                                        "-fmad=",
                                        "--use_fast_math",
                                        "-use_fast_math",
                                        "--ftz=",
                                        "-ftz=",
                                        "--prec-div=",
                                        "-prec-div=",
                                        "--prec-sqrt=",
                                        "-prec-sqrt=",
                                        "--generate-line-info",
                                        "-lineinfo",
                                        "--device-debug",
                                        "-G",
                                        "--maxrregcount=",
                                        "-maxrregcount=",
                                        "--disable-warnings",
                                        "-w",
                                        "--ptxas-options",
                                        "-Xptxas",
                                        "--device-int128",
                                        "-device-int128",
                                        "--device-as-default-execution-space",
                                        "-default-device",
                                        "--extra-device-vectorization",
                                        "--restrict",
                                        "-restrict",
                                        "--dopt",
                                        "-dopt",
                                        "--minimal",
                                        "-minimal",
                                        "--split-compile",
                                        "--no-source-include",
                                        "-no-source-include",
                                        "--diag-",
                                        "-diag-",
                                        "--ofast-compile",
                                        "-O3",
                                        "--no-cache",
                                        "-no-cache"};
    for (const char *prefix : known) {
        if (starts_with(option, prefix)) {
            return true;
        }
    }
    return false;
}

/* "sm_90a" or "compute_80" -> 900, 800; 0 for anything else. */
int parse_arch(const std::string &text) {
    size_t digits = starts_with(text, "sm_") ? 3 : starts_with(text, "compute_") ? 8 : 0;
    int arch = digits ? atoi(text.c_str() + digits) * 10 : 0;
    return arch >= 500 && arch <= 1300 ? arch : 0;
}

/* Turns NVRTC options into compiler options; false with a line in the log for one that NVRTC does not know. */
bool translate_options(const std::vector<std::string> &options, std::vector<std::string> &command, std::string &log) {
    int arch = 750;
    for (size_t i = 0; i < options.size(); i++) {
        const std::string &o = options[i];
        if (starts_with(o, "--gpu-architecture=") || starts_with(o, "-arch=")) {
            arch = parse_arch(o.substr(o.find('=') + 1));
        } else if (starts_with(o, "--define-macro=")) {
            command.push_back("-D" + o.substr(15));
        } else if (starts_with(o, "-D") && o.size() > 2) {
            command.push_back(o);
        } else if (starts_with(o, "-I") && o.size() > 2) {
            command.push_back(o);
        } else if (starts_with(o, "--include-path=")) {
            command.push_back("-I" + o.substr(15));
        } else if (!is_ignored(o)) {
            log = "nvrtc: error: unrecognized option " + o + " found\n";
            return false;
        }
        if (!arch) {
            log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
            return false;
        }
    }
    command.push_back("-D__CUDA_ARCH__=" + std::to_string(arch));
    return true;
}

/* ---- >>cache ----------------------------------------------------------------------------------------------------- */

std::string cache_folder() {
    Dl_info self;
    std::string beside = "/tmp";
    if (dladdr((void *)&cache_folder, &self)) {
        std::string path = self.dli_fname;
        size_t slash = path.rfind('/');
        beside = slash == std::string::npos ? "." : path.substr(0, slash);
    }
    std::string folder = environment("IND_EMULATION_CACHE", beside + "/cache");
    mkdir(folder.c_str(), 0700);
    char *absolute = realpath(folder.c_str(), nullptr);
    folder = absolute ? absolute : folder;
    free(absolute);
    return folder;
}

std::string include_folder() {
    return environment("IND_EMULATION_INCLUDE", IND_EMULATION_SOURCE_DIR);
}

/* A hash of all that decides the result: the text, the command, and the two headers in front. */
std::string cache_name(const std::string &text, const std::vector<std::string> &command) {
    std::string all = text, header;
    for (const std::string &word : command) {
        all += '\0' + word;
    }
    for (const char *name : {"ind_emulation.h", "ind_emulation_abi.h"}) {
        read_file(include_folder() + "/" + name, header);
        all += header;
    }
    char name[40];
    snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)hash_bytes(all.data(), all.size()),
             (unsigned long long)hash_bytes(all.data(), all.size(), 0x9e3779b97f4a7c15ull));
    return name;
}

/* What ptxas leaves in a cubin of a kernel with a frame of so many bytes: two sections, of names and of attributes. */
void write_elf(unsigned char *elf, unsigned char frame) {
    elf[40] = 64;        /* the table of sections is at byte 64 */
    elf[60] = 2;         /* sections */
    elf[64 + 24] = 192;  /* the first holds the names */
    elf[128] = 1;        /* the second has the one behind the 0 there, */
    elf[128 + 24] = 208; /* and 12 bytes at byte 208: */
    elf[128 + 32] = 12;
    elf[208] = 4;    /* a record with a length, */
    elf[209] = 0x11; /* the frame, */
    elf[210] = 8;    /* 8 bytes: of which function, how much */
    elf[216] = frame;
    memcpy(elf, "\177ELF", 4);
    memcpy(elf + 192, "\0.nv.info", 10);
}

bool spills(const std::string &source) {
    std::string text = environment("IND_EMULATION_SPILLS", "");
    return !text.empty() && source.find(text) != std::string::npos;
}

std::string make_image(const std::string &library, const std::string &path, unsigned char frame) {
    ind_emulation_image header = {};
    write_elf(header.elf, frame);
    memcpy(header.magic, IND_EMULATION_MAGIC, sizeof header.magic);
    header.bytes = library.size();
    header.hash = hash_bytes(library.data(), library.size());
    if (path.size() < sizeof header.path) {
        memcpy(header.path, path.c_str(), path.size());
    }
    return std::string(reinterpret_cast<const char *>(&header), sizeof header) + library;
}

/* Compiles under a name of its own and moves the result into place: several processes may do so at once. */
result compile_to(const std::string &target, const std::string &text, std::vector<std::string> command, program *p) {
    static int serial = 0;
    std::string mine = target + "." + std::to_string(getpid()) + "." +
                       std::to_string(__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
    std::string source = target + ".cu", library = mine + ".so", log = mine + ".log";
    if (!write_file(mine + ".cu", text.data(), text.size()) || rename((mine + ".cu").c_str(), source.c_str()) != 0) {
        p->log = "emulation: cannot write " + source + "\n";
        return ERROR_INTERNAL_ERROR;
    }
    for (const std::string &word :
         {std::string("-include"), include_folder() + "/ind_emulation.h", std::string("-x"), std::string("c++"), source,
          std::string("-x"), std::string("none"), std::string("-o"), library, std::string("-lm")}) {
        command.push_back(word);
    }
    bool ok = run_command(command, log);
    read_file(log, p->log);
    unlink(log.c_str());
    ok = ok && rename(library.c_str(), target.c_str()) == 0;
    if (!ok) {
        unlink(library.c_str());
        p->log += p->log.empty() ? "emulation: the compiler " + command[0] + " could not be run\n" : "";
    }
    return ok ? SUCCESS : ERROR_COMPILATION;
}

result compile(program *p, const std::vector<std::string> &options) {
    std::vector<std::string> command = base_command();
    p->log.clear();
    p->image.clear();
    if (!translate_options(options, command, p->log)) {
        return ERROR_INVALID_OPTION;
    }
    std::string text = "#line 1 \"" + p->name + "\"\n" + rewrite(p->source), library;
    std::string target = cache_folder() + "/" + cache_name(text, command) + ".so";
    if (!read_file(target, library)) {
        result status = compile_to(target, text, command, p);
        if (status != SUCCESS || !read_file(target, library)) {
            return status != SUCCESS ? status : ERROR_INTERNAL_ERROR;
        }
        __atomic_add_fetch(&state().stats[STAT_MISSES], 1, __ATOMIC_RELAXED);
    }
    p->image = make_image(library, target, spills(p->source) ? 64 : 0);
    p->ptx = std::string(IND_EMULATION_PTX) + target + "\n";
    for (const std::string &o : options) {
        if (starts_with(o, "--gpu-architecture=compute_")) {
            p->image.clear(); /* as NVRTC for virtual architectures */
        }
    }
    return SUCCESS;
}

/* ---- >>api ------------------------------------------------------------------------------------------------------- */

struct call {
    result status;
    program *p;

    /* `known`: the program must be one that is alive. */
    call(const char *name, void *handle, bool known) : p(static_cast<program *>(handle)) {
        std::lock_guard<std::mutex> guard(state().lock);
        status = (result)state().faults.strike(name, ERROR_OUT_OF_MEMORY);
        if (known && !state().live.count(p)) {
            status = ERROR_INVALID_PROGRAM;
        }
    }
};

#define ENTER(handle, known)                                                                                           \
    call entry(__func__, handle, known);                                                                               \
    if (entry.status != SUCCESS) {                                                                                     \
        return entry.status;                                                                                           \
    }
#define REQUIRE(condition, error)                                                                                      \
    if (!(condition)) {                                                                                                \
        return error;                                                                                                  \
    }

const int supported_archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

/* Text results count their terminating zero, as NVRTC's do. */
int text_size(const std::string &text, size_t *size) {
    REQUIRE(size, ERROR_INVALID_INPUT);
    *size = text.size() + 1;
    return SUCCESS;
}

int copy_text(const std::string &text, char *out) {
    REQUIRE(out, ERROR_INVALID_INPUT);
    memcpy(out, text.c_str(), text.size() + 1);
    return SUCCESS;
}

} // namespace

API nvrtcVersion(int *major, int *minor) {
    ENTER(nullptr, false);
    REQUIRE(major && minor, ERROR_INVALID_INPUT);
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

API nvrtcGetNumSupportedArchs(int *count) {
    ENTER(nullptr, false);
    REQUIRE(count, ERROR_INVALID_INPUT);
    *count = sizeof supported_archs / sizeof *supported_archs;
    return SUCCESS;
}

API nvrtcGetSupportedArchs(int *archs) {
    ENTER(nullptr, false);
    REQUIRE(archs, ERROR_INVALID_INPUT);
    memcpy(archs, supported_archs, sizeof supported_archs);
    return SUCCESS;
}

/* Headers given as text are not emulated: emitted code includes nothing. */
API nvrtcCreateProgram(void **out, const char *source, const char *name, int header_count, const char *const *,
                       const char *const *) {
    ENTER(nullptr, false);
    REQUIRE(out && source, ERROR_INVALID_INPUT);
    REQUIRE(header_count == 0, ERROR_PROGRAM_CREATION_FAILURE);
    std::lock_guard<std::mutex> guard(state().lock);
    program *p = new program{source, name && *name ? name : "default_program", "", "", ""};
    state().live.insert(p);
    state().stats[STAT_OBJECTS]++;
    *out = p;
    return SUCCESS;
}

/* The program is freed even where the call is made to fail: nothing else could free it. */
API nvrtcDestroyProgram(void **handle) {
    REQUIRE(handle, ERROR_INVALID_PROGRAM);
    call entry(__func__, *handle, true);
    REQUIRE(entry.status != ERROR_INVALID_PROGRAM, entry.status);
    std::lock_guard<std::mutex> guard(state().lock);
    state().live.erase(entry.p);
    state().stats[STAT_OBJECTS]--;
    delete entry.p;
    *handle = nullptr;
    return entry.status;
}

/* Different programs compile side by side in different threads. */
API nvrtcCompileProgram(void *handle, int option_count, const char *const *options) {
    ENTER(handle, true);
    REQUIRE(option_count == 0 || (option_count > 0 && options), ERROR_INVALID_INPUT);
    result status = compile(entry.p, std::vector<std::string>(options, options + option_count));
    __atomic_add_fetch(&state().stats[STAT_COMPILES], status == SUCCESS, __ATOMIC_RELAXED);
    return status;
}

API nvrtcGetCUBINSize(void *handle, size_t *size) {
    ENTER(handle, true);
    REQUIRE(size, ERROR_INVALID_INPUT);
    *size = entry.p->image.size();
    return SUCCESS;
}

API nvrtcGetCUBIN(void *handle, char *out) {
    ENTER(handle, true);
    REQUIRE(out, ERROR_INVALID_INPUT);
    memcpy(out, entry.p->image.data(), entry.p->image.size());
    return SUCCESS;
}

API nvrtcGetPTXSize(void *handle, size_t *size) {
    ENTER(handle, true);
    return text_size(entry.p->ptx, size);
}

API nvrtcGetPTX(void *handle, char *out) {
    ENTER(handle, true);
    return copy_text(entry.p->ptx, out);
}

API nvrtcGetProgramLogSize(void *handle, size_t *size) {
    ENTER(handle, true);
    return text_size(entry.p->log, size);
}

API nvrtcGetProgramLog(void *handle, char *out) {
    ENTER(handle, true);
    return copy_text(entry.p->log, out);
}

extern "C" __attribute__((visibility("default"))) const char *nvrtcGetErrorString(int value) {
    switch (value) {
#define RESULT_CASE(name, number)                                                                                      \
    case number: return "NVRTC_" #name;
        RESULTS(RESULT_CASE)
    default: return "NVRTC_ERROR unknown";
    }
}

extern "C" __attribute__((visibility("default"))) void ind_emulation_fail(const char *spec) {
    std::lock_guard<std::mutex> guard(state().lock);
    state().faults.set(spec);
}

extern "C" __attribute__((visibility("default"))) void ind_emulation_stats(unsigned long long out[STAT_COUNT]) {
    std::lock_guard<std::mutex> guard(state().lock);
    memcpy(out, state().stats, sizeof state().stats);
}
