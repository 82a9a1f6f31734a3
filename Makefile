# dpsim. Targets:
#   make            build/release/dpsim and dpsim-calib, linked as ./dpsim and ./dpsim-calib
#                   BUILD=release|debug|asan, V=1 shows commands
#                   BUILD_DIR=elsewhere keeps output out of build/
#   make test       every suite, in release and in asan         SUITES="net base" picks some
#   make lint       floors, walls, banned calls, headers alone, clang-format, cppcheck, clang-tidy (RULES=...)
#   make format     clang-format in place
#   make fuzz       each tests/fuzz/fuzz_*.c under libFuzzer for FUZZ_S seconds
#   make golden     re-make the golden files (tests/golden/test_golden.sh --remake)
#   make bench      build and run tests/bench/bench_*.c (release)
#   make docs       what README and docs quote from the program (docs/docs.sh); make validation is the same
#   make headline   record how good dpsim is on the published tables (tests/published/headline.json)
#   make plots      figures (plots/plots.sh)      make demo   the published runs (plots/demo.sh)
#   make deps       install every Debian package that any target needs
#   make install    to $(DESTDIR)$(PREFIX)        make clean  remove $(BUILD_DIR)
BUILD  ?= release
BUILD_DIR ?= build
PREFIX ?= /usr/local
FUZZ_S ?= 60
ifeq ($(origin CC),default)
CC = gcc
endif

# Lowest first. A suite of a floor links its own archive and those below, so what is broken above
# does not keep it from running. Floor "sim" is the top of sim/; its suites are in tests/sim.
FLOORS = base net collectives workload sim io study out
SUITES = $(sort $(patsubst tests/%/,%,$(dir $(wildcard tests/*/test_*.[cs]* tests/fuzz/fuzz_*.c))))
OUT   := $(BUILD_DIR)/$(BUILD)

# Debian's names of what each target needs
FOR_BUILD = gcc make pkg-config libc6-dev libgsl-dev libcsv-dev libcjson-dev libopenblas-dev
FOR_TEST  = $(FOR_BUILD) libcmocka-dev libopenmpi-dev openmpi-bin
FOR_PLOTS = $(FOR_BUILD) gnuplot-nox
FOR_LINT  = $(FOR_TEST) clang-format clang-tidy cppcheck
FOR_FUZZ  = $(FOR_BUILD) clang libclang-rt-14-dev

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wfloat-equal -Wvla -Wundef \
       -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wformat=2 -Wswitch-enum \
       -Wpointer-arith -Wnull-dereference -Wimplicit-fallthrough -Werror
CHECKS = -DARENA_REDZONE_B=16 -fsanitize=address,undefined,float-divide-by-zero,float-cast-overflow -fno-sanitize-recover=all
FLAGS_release = -O2 -g
FLAGS_debug   = -O0 -g3
FLAGS_asan    = -O1 -g3 $(CHECKS)
FLAGS_fuzz    = -w -O1 -g3 -fsanitize=fuzzer-no-link $(CHECKS)
CPPFLAGS += -D_GNU_SOURCE -Isim -I. -Itests -DDPSIM_SHARE='"$(PREFIX)/share/dpsim"'
CFLAGS   += -std=c11 -ffp-contract=off $(FLAGS_$(BUILD)) $(WARN)
LDLIBS    = $(shell pkg-config --libs gsl libcjson) -lcsv -lm

# Packages come first, so a bare machine builds too; then one make does the work in parallel.
PARALLEL = $(if $(findstring j,$(MAKEFLAGS)),,-j$(shell nproc))
say      = @$(if $(V),,echo "  $(1) $@";)
need     = dpkg -s $(1) >/dev/null 2>&1 || .ci/packages $(1)

.PHONY: all test lint format fuzz golden bench plots demo docs validation headline deps install clean suites benches fuzzers run-suites always
all:
	@$(call need,$(FOR_BUILD))
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/dpsim $(OUT)/dpsim-calib
	@ln -sf $(OUT)/dpsim dpsim && ln -sf $(OUT)/dpsim-calib dpsim-calib

src_sim   = $(filter-out sim/main.c,$(wildcard sim/*.c))
src_floor = $(or $(src_$(1)),$(wildcard sim/$(1)/*.c))
below    :=
define floor
below := $(OUT)/$(1).a $(below)
libs_$(1) := $(OUT)/$(1).a $(below)
$(OUT)/$(1).a: $(patsubst %.c,$(OUT)/%.o,$(call src_floor,$(1)))
	@rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach f,$(FLOORS),$(eval $(call floor,$f)))
every := $(below)
# what dpsim-calib is made of, but for its main; it stands on the floors, not among them
$(OUT)/calib.a: $(patsubst %.c,$(OUT)/%.o,$(filter-out calib/main.c,$(wildcard calib/*.c)))
	@rm -f $@ && ar rcs $@ $^
libs_calib := $(OUT)/calib.a $(every)

$(OUT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,cc) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/dpsim: $(OUT)/sim/main.o $(every)
	$(call say,link) $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# dpsim-calib's backend for NVIDIA GPUs: only where a CUDA compiler is found, and without sanitizers, which
# CUDA's address space does not bear. NCCL and cuDNN are used where their headers are. CUDA_ARCHS=native
# builds for the GPU that is there; the last of the list also goes in as PTX, for GPUs to come.
NVCC := $(or $(NVCC),$(shell command -v nvcc))
CUDA_ARCHS ?= 80 90 100
# where it lives it says itself: what is first on the path may be a script that starts it
CUDA_DIR := $(if $(NVCC),$(realpath $(shell $(NVCC) --dryrun -E -x cu /dev/null 2>&1 | sed -n 's/^.\$$ TOP=//p')))
has = $(if $(wildcard $(CUDA_DIR)/include/$(1) /usr/include/$(1)),$(2))
ifneq ($(and $(NVCC),$(filter release debug,$(BUILD))),)
CUDA_OBJECTS = $(patsubst %.cu,$(OUT)/%.o,$(wildcard calib/*.cu))
CUDA_USE := $(call has,nccl.h,-DCALIB_NCCL) $(call has,cudnn.h,-DCALIB_CUDNN)
CUDA_CODE = $(if $(filter native,$(CUDA_ARCHS)),-arch=native,$(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$a,code=sm_$a) \
    $(foreach a,$(lastword $(CUDA_ARCHS)),-gencode arch=compute_$a,code=compute_$a))
CUDA_WARN = -Wall,-Wextra,-Wcast-qual,-Wwrite-strings,-Wformat=2,-Wpointer-arith,-Werror
CUDA_DIRS = $(wildcard $(addprefix $(CUDA_DIR)/,lib64 lib targets/x86_64-linux/lib))
CUDA_LIBS = $(foreach d,$(CUDA_DIRS),-L$d -Wl,-rpath,$d) -lcublasLt -lcublas $(call has,nccl.h,-lnccl) \
    $(call has,cudnn.h,-lcudnn) -lcudart_static -lstdc++ -lrt -ldl -lpthread
# A compiler may come without the libraries: then the backend is compiled, to be checked, but not linked in.
CUDA_LINKS := $(shell echo 'int main(void) { return 0; }' | $(CC) -x c -o /dev/null - $(CUDA_LIBS) 2>/dev/null && echo yes)
$(OUT)/calib/%.o: calib/%.cu
	@mkdir -p $(@D)
	$(call say,nvcc) $(NVCC) -std=c++20 -O2 $(CUDA_CODE) $(CUDA_USE) -D_GNU_SOURCE -Isim -I. -Xcompiler $(CUDA_WARN) -MMD -MP -c -o $@ $<
endif
# the same files for a device that a CPU plays, with sanitizers where the build has them: only headers are needed
PLAYABLE := $(and $(NVCC),$(call has,cuda_runtime.h,yes),$(call has,cublasLt.h,yes),$(call has,nccl.h,yes))
PLAYED := $(if $(PLAYABLE),$(patsubst calib/%.cu,$(OUT)/tests/calib/played/%.o,$(wildcard calib/*.cu)))
PLAYED_FLAGS = -std=c++20 $(FLAGS_$(BUILD)) -w -DCALIB_NCCL -Itests/calib -I$(CUDA_DIR)/include $(CPPFLAGS) -MMD -MP
$(PLAYED): $(OUT)/tests/calib/played/%.o: calib/%.cu
	@mkdir -p $(@D)
	$(call say,g++) g++ -x c++ $(PLAYED_FLAGS) -include cuda_on_cpu.hh -c -o $@ $<
$(OUT)/tests/calib/played/on_cpu.o: tests/calib/cuda_on_cpu.cc
	@mkdir -p $(@D)
	$(call say,g++) g++ $(PLAYED_FLAGS) -c -o $@ $<
$(OUT)/tests/calib/test_cuda: $(PLAYED) $(OUT)/tests/calib/played/on_cpu.o $(OUT)/calib/buffers.o \
    $(OUT)/calib/gemm_args.o $(OUT)/calib/reference.o
$(OUT)/tests/calib/test_cuda: LDLIBS += -lstdc++ -ldl

# Calibration: the CPU and a fake clock always, ranks of MPI where Open MPI is, GPUs where there is CUDA (above)
MPI_FOUND := $(shell pkg-config --exists ompi-c 2>/dev/null && echo yes)
MPI_USE := $(if $(MPI_FOUND),-DCALIB_MPI $(patsubst -I%,-isystem %,$(filter -I%,$(shell pkg-config --cflags ompi-c))))
CALIB_LIBS = $(shell pkg-config --libs openblas) $(if $(MPI_FOUND),$(filter-out -I%,$(shell pkg-config --cflags --libs ompi-c))) -lpthread
CUDA_IN = $(and $(CUDA_OBJECTS),$(CUDA_LINKS))
$(OUT)/dpsim-calib: $(OUT)/calib/main.o $(if $(CUDA_IN),$(CUDA_OBJECTS)) $(OUT)/calib.a $(OUT)/base.a | $(CUDA_OBJECTS)
	$(call say,link) $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CALIB_LIBS) $(if $(CUDA_IN),$(CUDA_LIBS)) $(LDLIBS)
$(OUT)/calib/main.o: CPPFLAGS += $(if $(CUDA_IN),-DCALIB_CUDA)
$(OUT)/calib/mpi.o: CPPFLAGS += $(MPI_USE)
# What was found decides what these are made of, so they are made anew when it is another.
FOUND_main = $(if $(CUDA_IN),CUDA)
FOUND_mpi  = $(MPI_USE)
FOUND_cuda = $(NVCC) $(CUDA_ARCHS) $(CUDA_USE)
$(OUT)/calib/found.%: always
	@mkdir -p $(@D) && echo '$(FOUND_$*)' | cmp -s - $@ || echo '$(FOUND_$*)' >$@
$(OUT)/calib/main.o: $(OUT)/calib/found.main
$(OUT)/calib/mpi.o: $(OUT)/calib/found.mpi
$(CUDA_OBJECTS): $(OUT)/calib/found.cuda
# loops over rows are to be vectorised, as those of frameworks are
$(OUT)/calib/cpu_rows.o: CFLAGS += $(if $(filter release,$(BUILD)),-O3)
$(OUT)/calib/cpu_products.o: CPPFLAGS += $(shell pkg-config --cflags openblas)

# one binary per suite; tests of a floor see only that floor and those below
define suite_dir
$(OUT)/tests/$(1)/%: $(OUT)/tests/$(1)/%.o $(or $(libs_$(1)),$(every))
	$$(call say,link) $$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(if $$(filter calib,$(1)),$$(CALIB_LIBS)) $$(LDLIBS) -lcmocka
endef
$(foreach d,$(filter-out fuzz,$(SUITES) bench),$(eval $(call suite_dir,$d)))
# without libFuzzer a fuzz target replays its corpus
FUZZERS = $(patsubst tests/%.c,$(OUT)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
$(OUT)/tests/fuzz/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.o $(if $(filter fuzz,$(BUILD)),,$(OUT)/tests/fuzz/replay.o) $(every)
	$(call say,link) $(CC) $(CFLAGS) $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer) -o $@ $^ $(LDLIBS)
fuzzers: $(FUZZERS)

C_SUITES  = $(filter-out $(if $(PLAYABLE),,%/test_cuda),$(patsubst %.c,$(OUT)/%,$(foreach s,$(SUITES),$(wildcard tests/$s/test_*.c))))
C_REPLAYS = $(if $(filter fuzz,$(SUITES)),$(FUZZERS))
# lint and the docs are the same in every build
SH_SUITES = $(foreach s,$(filter-out $(if $(filter asan,$(BUILD)),lint docs),$(SUITES)),$(wildcard tests/$s/test_*.sh))
suites: $(C_SUITES) $(C_REPLAYS) $(if $(strip $(SH_SUITES) $(filter-out $(FLOORS) fuzz lint,$(SUITES))),$(OUT)/dpsim $(OUT)/dpsim-calib)

run-suites:
	@DPSIM=$(OUT)/dpsim CALIB=$(OUT)/dpsim-calib tests/run.sh $(or $(TOTALS),/dev/null) $(C_SUITES) $(C_REPLAYS) $(SH_SUITES)
test:
	@$(call need,$(FOR_TEST))
	@mkdir -p $(BUILD_DIR) && totals=$$(mktemp $(BUILD_DIR)/totals.XXXXXX); \
	for build in release asan; do \
	    $(MAKE) --no-print-directory -k $(PARALLEL) BUILD=$$build suites || \
	        echo "build $$build: 0 passed, 1 failed" | tee -a $$totals; \
	    $(MAKE) --no-print-directory BUILD=$$build TOTALS=$$totals run-suites; \
	done; tests/run.sh $$totals; status=$$?; rm -f $$totals; exit $$status

lint: export CPPFLAGS := $(CPPFLAGS) $(shell pkg-config --cflags openblas 2>/dev/null) $(MPI_USE)
lint: export WARN := $(WARN)
lint: export BUILD_DIR := $(BUILD_DIR)
lint:
	@$(call need,$(FOR_LINT))
	@tests/lint/lint.sh $(RULES)
format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

fuzz:
	@$(call need,$(FOR_FUZZ))
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=fuzz CC=clang fuzzers
	@for f in $(FUZZERS:$(OUT)/tests/fuzz/fuzz_%=%); do found=$(BUILD_DIR)/fuzz/found/$$f; mkdir -p $$found; \
	    $(BUILD_DIR)/fuzz/tests/fuzz/fuzz_$$f -max_total_time=$(FUZZ_S) -max_len=4096 -timeout=10 \
	        -artifact_prefix=$$found- $$found tests/fuzz/corpus/$$f || exit 1; done

BENCHES = $(patsubst %.c,$(OUT)/%,$(wildcard tests/bench/bench_*.c))
benches: $(BENCHES)
bench: all
	@$(MAKE) --no-print-directory $(PARALLEL) benches
	@for b in $(BENCHES); do $$b || exit 1; done

golden: all
	@DPSIM=./dpsim tests/golden/test_golden.sh --remake
plots demo: all
	@$(call need,$(FOR_PLOTS))
	@DPSIM=./dpsim plots/$@.sh
docs validation: all
	@$(call need,$(FOR_PLOTS))
	@DPSIM=./dpsim docs/docs.sh
headline: all
	@mkdir -p build/docs && DPSIM=./dpsim docs/validation.sh build/docs
	@docs/headline.sh build/docs/headline.now --record
deps:
	@$(call need,$(sort $(FOR_LINT) $(FOR_FUZZ) $(FOR_PLOTS)))

install: all
	install -Dm755 -t $(DESTDIR)$(PREFIX)/bin $(OUT)/dpsim $(OUT)/dpsim-calib
	cd scenarios && find . -type f -exec install -Dm644 {} $(DESTDIR)$(PREFIX)/share/dpsim/{} \;
clean:
	rm -rf $(BUILD_DIR) dpsim dpsim-calib

.SECONDARY:
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
