# The CUDA emulation: a driver, an NVRTC and a cuBLASLt for machines without a GPU. Included by the Makefile of the repository.
#   make emulated-test   builds the libraries and their own tests; runs these with and without the sanitizers
# EMULATED_FLAGS='-O1 -g -fsanitize=address,undefined'
#   checks the libraries themselves; sanitized kernels need no such build.
BUILD          ?= build
EMULATED_FLAGS ?= -O3 -g
EMULATED_DIR   := tests/emulated
EMULATED       := $(addprefix $(BUILD)/emulated/,libcuda.so libnvrtc.so libcublasLt.so)
# initial-exec: LeakSanitizer misreads the thread-local storage of libraries that are opened late.
EMULATED_CXX   := $(CXX) -std=c++17 $(EMULATED_FLAGS) -Wall -Wextra -Werror -fPIC -fvisibility=hidden \
                  -ftls-model=initial-exec
EMULATED_DEPS  := $(addprefix $(EMULATED_DIR)/,support.h execution.h tensor_memory.h ind_emulation_abi.h emulated.mk)
EMULATED_TEST  := $(CXX) -std=c++17 -O1 -g -Wall -Wextra -Werror
EMULATED_TESTS := $(BUILD)/emulated/test_emulation $(BUILD)/emulated/test_emulation_plain

$(BUILD)/emulated/libcuda.so: $(EMULATED_DIR)/cuda.cc $(EMULATED_DIR)/execution.cc $(EMULATED_DEPS)
	@mkdir -p $(@D)
	$(EMULATED_CXX) -shared $(filter %.cc,$^) -o $@ -ldl -lpthread

$(BUILD)/emulated/libnvrtc.so: $(EMULATED_DIR)/nvrtc.cc $(EMULATED_DEPS)
	@mkdir -p $(@D)
	$(EMULATED_CXX) -DIND_EMULATION_SOURCE_DIR='"$(abspath $(EMULATED_DIR))"' -shared \
	    $(filter %.cc,$^) -o $@ -ldl -lpthread

$(BUILD)/emulated/libcublasLt.so: $(EMULATED_DIR)/cublaslt.cc $(EMULATED_DEPS)
	@mkdir -p $(@D)
	$(EMULATED_CXX) -shared $(filter %.cc,$^) -o $@ -ldl -lpthread

$(BUILD)/emulated/test_emulation: $(EMULATED_DIR)/test_emulation.cc $(EMULATED_DEPS) | $(EMULATED)
	$(EMULATED_TEST) -fsanitize=address,undefined -fno-sanitize-recover=undefined $< -o $@ -ldl -lpthread

$(BUILD)/emulated/test_emulation_plain: $(EMULATED_DIR)/test_emulation.cc $(EMULATED_DEPS) | $(EMULATED)
	$(EMULATED_TEST) $< -o $@ -ldl -lpthread

.PHONY: emulated emulated-test
emulated: $(EMULATED)

# Once more in other orders of threads: a result that depends on the order is a race.
emulated-test: $(EMULATED) $(EMULATED_TESTS)
	$(BUILD)/emulated/test_emulation $(BUILD)/emulated
	IND_EMULATION_ORDER=reverse $(BUILD)/emulated/test_emulation $(BUILD)/emulated
	IND_EMULATION_ORDER=random $(BUILD)/emulated/test_emulation $(BUILD)/emulated
	$(BUILD)/emulated/test_emulation_plain $(BUILD)/emulated
