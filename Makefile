# The commands of the project, of which .ci/run calls all that must pass; CONTRIBUTING.md says more.

# What the tests need beyond Go, as Debian's packages: an OpenCL device on the CPU, the loader, a
# checking simulator, the compiler.
DEBIAN = ocl-icd-libopencl1 pocl-opencl-icd oclgrind clang-19
# Two MPI libraries with their launchers, side by side.
DEBIAN += openmpi-bin mpich
# An arm64 processor, simulated, and its loader of programs.
DEBIAN += $(if $(filter aarch64,$(shell uname -m)),,qemu-user libc6-arm64-cross)
# The C library of programs of 32 bits, which load libraries.
DEBIAN += $(if $(filter x86_64,$(shell uname -m)),libc6-i386)
# NVIDIA's assembler and run-time compiler, as wheels; neither needs a GPU.
WHEELS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tandem-test
CUDA   = 13.5.37
PTXAS  = $(WHEELS)/nvidia-cuda-nvcc-$(CUDA)/nvidia/cu13/bin/ptxas
NVRTC  = $(WHEELS)/nvidia-cuda-nvrtc-$(CUDA)/nvidia/cu13/lib/libnvrtc.so.13
PIP    = python3 -m pip install -q --disable-pip-version-check --no-deps --target
# Intel's OpenCL for x86-64 processors, as wheels: of 800 MB the 400 that its CPU device needs.
INTELCL = 2026.2.0
INTEL   = $(WHEELS)/intel-opencl-$(INTELCL)
INTELSO = $(INTEL)/lib/libintelocl.so
INTELWHEELS = intel-opencl-rt==$(INTELCL) intel-cmplr-lib-rt==$(INTELCL) tbb==2023.2.0
INTELLIBS = cl.cfg *.rtl cllibrary*.o libocl_svml_*.so libcommon_clang.so.* libimf.so libsvml.so libirng.so \
	libintlc.so.5 libtbb.so.12 libintelocl.so
# Tools in Go, built once for each version of Go, which go run would do again where Go's cache has
# been emptied: golangci-lint takes minutes.
TOOLS      = $(WHEELS)/tools-$(shell go env GOVERSION)
LINT       = $(TOOLS)/2.15.0/golangci-lint
ACTIONLINT = $(TOOLS)/1.7.12/actionlint
GOTESTSUM  = $(TOOLS)/1.13.0/gotestsum
# AMD's compiler, Debian's package unpacked. What it needs beyond comes with PoCL.
COMGR  = $(WHEELS)/libamd-comgr2
SUDO   = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# What Go compiles has no path of this clone, so that its cache serves the next one.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# Devices and tools that must be there for `make test`; without this, tests of what is missing are
# skipped and say so.
REQUIRE = opencl,oclgrind,clang,comgr,ptxas,nvrtc,cudasim,openmpi,mpich
# make check vets; without what a debugger needs a program is linked in half the time.
TESTFLAGS = -vet=off -ldflags=-w -timeout $(TIMEOUT)
GOTEST    = go test $(TESTFLAGS)
# The same of many packages: it prints them as they end, and at last once more what has failed.
SUMMARY   = $(GOTESTSUM) --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped -- \
	$(TESTFLAGS)
TESTENV = TANDEM_REQUIRE=$(REQUIRE) TANDEM_PTXAS=$(PTXAS) TANDEM_NVRTC=$(NVRTC)

# How long the tests of one package may take; beside other work raise it: make test TIMEOUT=60m.
TIMEOUT = 10m

# Platforms, without cgo: their types are checked, and for two the program is built.
PLATFORMS = linux/amd64 linux/arm64 linux/386 windows/amd64 darwin/arm64
BUILT     = windows/amd64 darwin/arm64
# One of each kind where no library can be loaded without cgo: the cpu device remains.
CPU_ONLY  = openbsd/amd64 freebsd/amd64 linux/s390x js/wasm wasip1/wasm

.PHONY: weight test long runtimes oclgrind oclgrind-products oclgrind-others intel setup check race \
	variants arm64 assembly v3 nocgo build generate gpu-bundle release bench fmt rmath-proof rmath-measure

# The tests, with what they need installed first, but for those that take long. The longest come
# first, so that no core is idle at the end.
LONGEST = ./gpu/compiler ./linalg ./cmd/tandem ./kernels

test: setup $(GOTESTSUM)
	$(TESTENV) $(SUMMARY) \
		-skip '^Test($(call one_of,$(LONG)))$$|$(TILES_ON_POCL)' $(LONGEST) ./...

# What takes long for what it finds beside the others: programs that are built again for each edit,
# generated files, pages, every call of a driver that fails in turn, conformance once more for each
# driver, suites of others, many shapes, hundreds of sessions, and programs that are interrupted.
LONG  = Fresh NoDrift Stale NativeFolder NativeUnderLoad MissingBarriers Vendored RandomErrors Names
LONG += PTXFile ChangeBetweenLaunches LaneValues Mutants README Page Scripts RunGoInMain
LONG += EveryCallFails DeviceFails OperationsOfMemory Operations Garbage Faults Endurance Libraries Ranks RanksFail
LONG += TuneInterrupted BenchInterrupted MPIInterruptedInInit ProcessInterruptedInDriver MatMulMPIFails
LONG += NoWarnings CorruptedPTXOnSimulator ConformanceAll ConformanceMPI SharedConformance SuiteNVRTC SuiteIntegrated
LONG += MatMulBits Products ProductsByMatrixUnits Syrk ComplexSyrk ComplexTriangular Testlapack GemmSlim Shared

# Parts of tests: PoCL takes long to compile each shape of a tile.
TILES_ON_POCL = ^Test(Transposes|Elementwise|MatMulBatch|ThinProducts|TallMatrices)$$/^opencl:0

# The driver's tests once more on a simulated GPU with matrix instructions.
long: setup $(GOTESTSUM)
	$(TESTENV) $(SUMMARY) -run '^Test($(call one_of,$(LONG)))$$' \
		$$(grep -rlE --include='*_test.go' '^func Test($(call one_of,$(LONG)))\(' . | xargs -n 1 dirname | sort -u)
	$(TESTENV) $(GOTEST) -run '$(TILES_ON_POCL)' ./kernels
	$(TESTENV) TANDEM_CUDASIM_ARCH=sm_90 $(GOTEST) -short ./backend/cuda

# What runs on OpenCL, once more where it finds more mistakes, and on another runtime.
runtimes: setup
	$(MAKE) --no-print-directory -j2 oclgrind-others intel

# Kernels under oclgrind: no access outside a buffer, no data race, nothing read before it was
# written, no wrong call. The built-in ones at reduced shapes, products in make variants, then the
# suite of drivers without the cases that make mistakes on purpose, nor products once more, then the
# examples of kernels in Go. Its exit code tells nothing: what it prints must name no kernel and no
# function, and each part must have launched kernels and executed instructions. Its check of what
# was written first takes vectors whose parts were shuffled for unwritten (Oclgrind's issue 126): it
# is left out where kernels shuffle. It runs on one thread of its own: with more its heap was once
# found corrupted.
OCLGRIND = OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
	OCLGRIND_INST_COUNTS=1 OCLGRIND_NUM_THREADS=1 TANDEM_CACHE=off TANDEM_REQUIRE=opencl

# Part $(1) with more of the environment, $(2), and what go test is to do, $(3).
define under_oclgrind
	@mkdir -p build
	$(OCLGRIND) $(2) $(GOTEST) -count=1 -p 1 -v -short $(3) >build/oclgrind-$(1).out 2>&1 || \
		{ tail -40 build/oclgrind-$(1).out; exit 1; }
	@! grep -E -m 4 -B 2 -A 9 '^	(Kernel|Function): ' build/oclgrind-$(1).out
	@awk '/^Instructions executed for kernel/ { n++ } \
		/^ *[0-9,]+ - / { gsub(",", "", $$1); sum += $$1 } \
		END { printf "oclgrind: $(1): %d launches, %d instructions, nothing to report\n", n, sum; \
			exit n == 0 || sum == 0 }' build/oclgrind-$(1).out

endef

oclgrind: oclgrind-products oclgrind-others

oclgrind-products:
	$(call under_oclgrind,products,OCLGRIND_UNINITIALIZED=1,-run '^TestProducts$$/opencl' ./kernels)

oclgrind-others:
	$(call under_oclgrind,elementwise,OCLGRIND_UNINITIALIZED=1,-run '^(TestElementwise|TestDialect)$$/opencl' ./kernels)
	$(call under_oclgrind,transposes,,-run '^TestTransposes$$/opencl' ./kernels)
	$(call under_oclgrind,suite,OCLGRIND_UNINITIALIZED=1,-run '^TestSuite$$' -skip '$(CONFORMANCE)' ./backend/opencl)
	$(call under_oclgrind,go,,-run '/opencl' -skip '^Test(Stale|Launch.*|Run|Picture|Matmul)$$' \
		./examples/kernels ./examples/seeds)
	$(call under_oclgrind,batched,,-run '/opencl/.*/(7_of_3|40_of_2|7_of_5)[^0-9]' ./linalg/batched)

# What runs on OpenCL, once more on Intel's: the drivers' suite, package cl, the kernels, linalg,
# conformance, the examples. -count=1, as go test does not know that the driver is another. The
# probe and the examples of kernels once more as on a processor without AVX-512. At last both
# drivers in one process. Only x86-64 processors have it.
ON_INTEL  = TANDEM_REQUIRE=opencl,intel-opencl OCL_ICD_VENDORS=$(INTELSO) $(GOTEST) -count=1 -short
EXAMPLES  = $$(go list ./examples/... | grep -v /internal)

intel:
	@[ "$$(uname -m)" = x86_64 ] || { echo "Intel's OpenCL needs an x86-64 processor"; exit 0; }; set -ex; \
	$(ON_INTEL) -skip '^TestEveryCallFails$$' ./backend/opencl ./backend/opencl/cl; \
	$(ON_INTEL) -run '/^opencl' -skip '^(TestPTXAssembles|TestStale)$$' ./kernels ./linalg ./linalg/batched \
		./conformance $(EXAMPLES); \
	$(ON_INTEL) -run '^TestTraps$$' ./gpu/compiler; \
	$(ON_INTEL) -run '^TestEndurance$$' ./bench -backend opencl; \
	CL_CONFIG_CPU_TARGET_ARCH=core-avx2 $(ON_INTEL) -run 'Probe|Branches' ./backend/opencl; \
	CL_CONFIG_CPU_TARGET_ARCH=core-avx2 $(ON_INTEL) -run '/^opencl' -skip '^TestStale$$' ./examples/kernels; \
	mkdir -p build/vendors; echo $(INTELSO) >build/vendors/intel.icd; cp /etc/OpenCL/vendors/pocl.icd build/vendors; \
	TANDEM_REQUIRE=two-opencl OCL_ICD_VENDORS=$(CURDIR)/build/vendors \
		$(GOTEST) -count=1 -run '^TestTwoVendors$$' ./linalg

# What runs machine code on the cpu device, once more on a simulated arm64 processor; files and the
# golden bits on one whose words begin with their highest byte.
# What has no part named after the cpu device runs whatever -run says: left out is what takes long
# and finds the same on any processor.
ELSEWHERE = Stale PTXAssembles CheckedWithoutNVRTC Reductions LongLaunchBesideCollector \
	CorruptedPTXOnSimulator LinksWhatItUses SourcesDeclareWhatTheirTextSays
ON_ARM64 = TANDEM_REQUIRE=clang GOARCH=arm64 CGO_ENABLED=0 $(GOTEST) -short \
	-exec 'qemu-aarch64 -L /usr/aarch64-linux-gnu'

arm64:
	@[ "$$(uname -m)" != aarch64 ] || { echo "this is an arm64 processor"; exit 0; }; set -ex; \
	$(ON_ARM64) ./backend/cpu ./internal/nativegen; \
	$(ON_ARM64) -skip '^Test(Gemm(Slim|Thin)|ComplexProduct|TransposeStream|Square)$$' ./internal/host; \
	$(ON_ARM64) -run '/cpu' -skip '^Test($(call one_of,$(ELSEWHERE)))$$' \
		./kernels ./examples/gpt ./examples/kernels ./examples/scripts ./examples/seeds ./array \
		./gpu/compiler/mistakes ./linalg/batched; \
	export CGO_ENABLED=0 GOARCH=ppc64; \
	$(GOTEST) -short -exec qemu-ppc64 ./internal/npy; \
	go run -exec qemu-ppc64 ./cmd/tandem conformance --quick --backend cpu

setup:
	@command -v apt-get >/dev/null || { \
		echo "make setup installs Debian packages; elsewhere install the equivalents of: $(DEBIAN)"; exit 0; }; \
	missing=$$(for p in $(DEBIAN); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	python3 -m pip --version >/dev/null 2>&1 || missing="$$missing python3-pip"; \
	[ -z "$$missing" ] || { $(SUDO) apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; }
	@[ -x $(PTXAS) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvcc-$(CUDA) nvidia-cuda-nvcc==$(CUDA)
	@[ -f $(NVRTC) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvrtc-$(CUDA) nvidia-cuda-nvrtc==$(CUDA)
	@[ "$$(uname -m)" != x86_64 ] || [ -f $(INTELSO) ] || { set -e; rm -rf $(INTEL); mkdir -p $(INTEL)/lib; \
		python3 -m pip download -q --disable-pip-version-check --no-deps -d $(INTEL)/wheels $(INTELWHEELS); \
		for w in $(INTEL)/wheels/*.whl; do python3 -m zipfile -e $$w $(INTEL)/all; done; \
		for f in $(INTELLIBS); do mv $(INTEL)/all/*.data/data/lib/$$f $(INTEL)/lib; done; \
		rm -rf $(INTEL)/all $(INTEL)/wheels; }
	@[ -d $(COMGR) ] || ! command -v apt-get >/dev/null || { set -e; mkdir -p $(COMGR).new; cd $(COMGR).new; \
		apt-get download -qq libamd-comgr2 || \
			{ $(SUDO) apt-get update -qq; apt-get download -qq libamd-comgr2; }; \
		dpkg -x libamd-comgr2_*.deb .; rm *.deb; mv $(COMGR).new $(COMGR); }

# Quick checks before a commit: the linters, for the code as .golangci.yml says and for the
# workflows.
check: $(LINT) $(ACTIONLINT)
	$(LINT) run ./...
	$(ACTIONLINT)
	go mod tidy -diff

$(LINT):
	@echo "building golangci-lint, once: some minutes"
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(notdir $(@D))

$(ACTIONLINT):
	GOBIN=$(@D) go install github.com/rhysd/actionlint/cmd/actionlint@v$(notdir $(@D))

$(GOTESTSUM):
	GOBIN=$(@D) go install gotest.tools/gotestsum@v$(notdir $(@D))

# All packages but those that start no goroutines, whose tests only take longer; the drivers and
# linalg run the kernels here. Tests that find nothing here leave themselves out; these are parts of
# others: bits, and kernels of the cpu device, whose work-items would be goroutines for minutes,
# whole programs on the simulator, which has tests of its own, and, of loops that goroutines share
# in both types alike, one type.
CONFORMANCE   = ^TestSuite$$/./^Conformance$$
RACE_SKIP     = $(CONFORMANCE) ^Test(SharedConformance|Run)$$/cudasim ^TestDeviceFails$$/^memory_of_its_own$$ \
	^Test(FactorsOnDevice|Int8)$$/^(cpu|copies)$$ ^Test(QR|LQ|LU|Triangles|Squares|GemmSlim)$$/float32
NO_GOROUTINES = /array|/batched|/exact|/superacc|/kernels|/conformance|/samebits|/archtest|/rmath/internal|/mutate|gen$$
ON_ARRAYS     = /examples/(gpt|scripts)

# The words of $(1) as alternatives of a regular expression.
one_of = $(subst $(space),|,$(strip $(1)))
space  = $(eval) $(eval)

race: TIMEOUT = 20m
race: $(GOTESTSUM)
	CGO_ENABLED=1 $(SUMMARY) -race -short \
		-skip '$(call one_of,$(RACE_SKIP))' \
		./linalg $$(go list ./... | grep -vE '$(NO_GOROUTINES)|$(ON_ARRAYS)')

# Products under oclgrind, and the paths that a plain run does not take: no assembly, no cgo (for
# packages that load libraries, and the program), the compiler's own FMA and wider vectors (a plain
# run is GOAMD64=v1), 32 bits. Without assembly the cpu device alone differs, without cgo the
# others; of gonumblas tests of bits alone say whether Go has fused something.
SHORT = $(GOTEST) -short

variants:
	$(MAKE) --no-print-directory -j2 oclgrind-products arm64 assembly v3 nocgo

assembly:
	$(SHORT) -tags purego ./internal/host ./backend/cpu
	$(SHORT) -tags purego -run '/^cpu' ./linalg

v3:
	GOAMD64=v3 $(SHORT) ./internal/host ./backend/cpu ./backend/cudasim/ptxsim ./conformance
	GOAMD64=v3 $(SHORT) ./rmath ./rmath/f32 ./rmath/rcmplx
	GOAMD64=v3 $(SHORT) -run '^Test(VectorDigest|Triangular|Complex(Syrk|Triangular)?|SVDByMat)$$' ./linalg/gonumblas
	CGO_ENABLED=0 GOARCH=386 $(SHORT) ./rmath ./rmath/f32 ./rmath/rcmplx ./backend ./backend/driverkit/dl \
		./backend/internal/cuda/simapi ./gpu/support ./internal/npy ./internal/outofcore ./array/np
	CGO_ENABLED=0 GOARCH=386 $(SHORT) -run Batches/cpu ./linalg/batched

nocgo:
	CGO_ENABLED=0 $(SHORT) -tags tandem_nolibs ./backend/driverkit/... ./backend/cpu
	TANDEM_REQUIRE=opencl CGO_ENABLED=0 $(SHORT) -skip '^TestEveryCallFails$$' \
		$$(go list ./backend/... | grep -v 'cudasim\|backendtest')
	TANDEM_REQUIRE=opencl CGO_ENABLED=0 $(SHORT) -run '/^opencl' ./linalg
	TANDEM_REQUIRE=opencl CGO_ENABLED=0 $(GOTEST) -run '^Test(Process|WithoutCUDA|MatMulMPI)$$' ./cmd/tandem

# Package f32 over all 2^32 arguments of each function, against a reference: a minute or two of
# processor time a function. F=Exp,Log proves some; RECORD=-record writes what it finds to testdata.
rmath-proof:
	go test ./rmath/f32 -v -run '^TestProof$$' -timeout 0 -proof $(or $(F),all) $(RECORD)

# Package rmath's errors over 10^8 arguments of each function: some ten seconds of processor time a
# function. F and RECORD as above.
rmath-measure:
	go test ./rmath -v -run 'TestMeasure$$|TestStructured' -timeout 0 -measure $(or $(F),all) $(RECORD)

# How heavy the tree is, in lines and bytes.
weight:
	@git ls-files '*.go' '*.s' '*.cl' '*.c' '*.h' | xargs awk ' \
		FNR == 1 { kind = FILENAME ~ /_test\.go$$|testdata/ ? "of tests" : "by hand" } \
		/^\/\/ Code generated/ && kind == "by hand" { kind = "generated" } \
		{ n[kind]++ } END { for (k in n) print n[k], "lines", k }'
	@git ls-files -z | xargs -0 du -cb | awk 'END { print $$1, "bytes" }'

# The types of everything for each platform, and of what the cpu device needs where no library can
# be loaded. For two platforms the program is built, and vet sees the packages with assembly and
# with memory that is not Go's: both compile all that is imported, which takes a minute. make
# release builds the program for all.
build:
	@for p in $(PLATFORMS); do echo "types for $$p"; go run ./scripts/typecheck $$p ./... || exit 1; done
	@for p in $(CPU_ONLY); do \
		echo "types for $$p, which loads no libraries"; \
		go run ./scripts/typecheck $$p ./array/... ./exact ./linalg/... ./rmath/... ./backend/... || exit 1; \
	done
	go run ./scripts/typecheck -tags tandem_nolibs linux/amd64 ./cmd/tandem ./backend/driverkit/dl
	@for p in $(BUILT); do \
		echo "build $$p"; export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
		go build -o /dev/null ./cmd/tandem || exit 1; \
		go vet ./backend/cpu ./backend/driverkit/... ./internal/host || exit 1; \
	done

# All that is generated: PTX, machine code, and the tables of registers, which need NVIDIA's wheels
# and AMD's compiler. Package kernels is first: backend/cuda and others have tables of its text.
generate: setup
	TANDEM_REQUIRE=clang,comgr,ptxas,nvrtc TANDEM_PTXAS=$(PTXAS) TANDEM_NVRTC=$(NVRTC) go generate ./kernels ./...

# What a machine with a GPU, and without Go, needs to check Tandem: programs and sample files in one
# archive, as most of their bytes are alike, and the script that runs them. GOARCH=arm64 for Arm.
# The OpenCL loader of this machine goes along, for machines that have NVIDIA's OpenCL without one.
# With the tree, as git has it, it must stay below 64 MiB, which is what some machines take.
GPU      = build/gpu
SMALL    = -ldflags '-s -w'
GPUTESTS = backend/cuda backend/opencl kernels linalg linalg/batched linalg/gonumblas array \
	array/np examples/gpt examples/kernels examples/seeds examples/scripts

gpu-bundle:
	rm -rf $(GPU) && mkdir -p $(GPU)/programs
	CGO_ENABLED=0 GOOS=linux go build -buildvcs=auto $(SMALL) -o $(GPU)/programs/tandem ./cmd/tandem
	for p in $(GPUTESTS); do \
		CGO_ENABLED=0 GOOS=linux go test -c $(SMALL) -o $(GPU)/programs/$$(echo $$p | tr / -).test ./$$p || exit 1; \
	done
	cp scripts/gpu/mma-check.cu scripts/gpu/*.py testdata/a.npy testdata/b.npy $(GPU)/programs
	@[ "$$(go env GOARCH)" != "$$(go env GOHOSTARCH)" ] || \
		for f in /usr/lib/$$(uname -m)-linux-gnu/libOpenCL.so.1; do [ ! -e $$f ] || cp -L $$f $(GPU)/programs; done
	tar -C $(GPU)/programs -I 'xz -T1 --lzma2=preset=6,dict=256MiB' -cf $(GPU)/programs.tar.xz .
	rm -r $(GPU)/programs && cp scripts/gpu/check.sh $(GPU)
	@bundle=$$(du -sm $(GPU) | cut -f1); \
		tree=$$(git ls-files -z | xargs -0 du -cbm | awk '/total$$/ { s += $$1 } END { print s }'); \
		echo "$(GPU): $$bundle MiB, the tree $$tree MiB"; [ $$((bundle + tree)) -lt 64 ]

# The command for four systems, with checksums; the same bytes from the same revision and Go
# version.
release:
	scripts/release.sh

bench:
	go test -timeout $(TIMEOUT) -run '^$$' -bench . -benchmem \
		./internal/host ./kernels ./backend/cuda/... ./linalg/...

fmt: $(LINT)
	$(LINT) fmt
