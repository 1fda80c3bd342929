# The commands of the project. `make test` is the whole test run; CONTRIBUTING.md says more.

LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What the tests need beyond Go, as Debian's packages: an OpenCL device on the CPU, the loader, a checking simulator, the compiler.
DEBIAN = ocl-icd-libopencl1 pocl-opencl-icd oclgrind clang-19 llvm-19
# NVIDIA's assembler and run-time compiler, as wheels; neither needs a GPU.
WHEELS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tandem-test
CUDA   = 13.5.37
PTXAS  = $(WHEELS)/nvidia-cuda-nvcc-$(CUDA)/nvidia/cu13/bin/ptxas
NVRTC  = $(WHEELS)/nvidia-cuda-nvrtc-$(CUDA)/nvidia/cu13/lib/libnvrtc.so.13
PIP    = python3 -m pip install -q --disable-pip-version-check --no-deps --target
SUDO   = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Devices and tools that must be there for `make test`; without this, tests of what is missing are skipped and say so.
REQUIRE = opencl,oclgrind,clang,ptxas,nvrtc,cudasim
TESTENV = TANDEM_REQUIRE=$(REQUIRE) TANDEM_PTXAS=$(PTXAS) TANDEM_NVRTC=$(NVRTC)

PLATFORMS = linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: test oclgrind setup check race variants build generate gpu-bundle release bench fmt

# Everything that must pass, with what it needs installed first.
test: setup
	$(TESTENV) go test -timeout 20m ./...
	$(MAKE) --no-print-directory oclgrind

# Kernels under oclgrind: no access outside a buffer, no data race, nothing read before it was written, no wrong call. The built-in ones at reduced
# shapes, then the suite of drivers without the cases that make mistakes on purpose. Its exit code tells nothing: the log must be empty, and
# each half must have launched kernels and executed instructions.
OCLGRIND = OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
	OCLGRIND_UNINITIALIZED=1 OCLGRIND_INST_COUNTS=1 OCLGRIND_LOG=$(CURDIR)/build/oclgrind.log TANDEM_CACHE=off TANDEM_REQUIRE=opencl
UNDER_OCLGRIND = go test -count=1 -p 1 -v -short

oclgrind:
	@mkdir -p build; : >build/oclgrind.log
	$(OCLGRIND) $(UNDER_OCLGRIND) -run '^(TestProducts|TestMatMulDoesNotReadC|TestTransposes|TestElementwise)$$' ./kernels >build/oclgrind-kernels.out 2>&1 || \
		{ tail -40 build/oclgrind-kernels.out; exit 1; }
	$(OCLGRIND) $(UNDER_OCLGRIND) -run '^TestSuite$$' ./backend/opencl >build/oclgrind-suite.out 2>&1 || { tail -40 build/oclgrind-suite.out; exit 1; }
	@if [ -s build/oclgrind.log ]; then head -40 build/oclgrind.log; exit 1; fi
	@for part in kernels suite; do awk -v part=$$part '/^Instructions executed for kernel/ { n++ } \
		/^ *[0-9,]+ - / { gsub(",", "", $$1); sum += $$1 } \
		END { printf "oclgrind: %s: %d launches, %d instructions, nothing to report\n", part, n, sum; exit n == 0 || sum == 0 }' build/oclgrind-$$part.out || exit 1; done

setup:
	@command -v apt-get >/dev/null || { echo "make setup installs Debian packages; elsewhere install the equivalents of: $(DEBIAN)"; exit 0; }; \
	missing=$$(for p in $(DEBIAN); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	python3 -m pip --version >/dev/null 2>&1 || missing="$$missing python3-pip"; \
	[ -z "$$missing" ] || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; }
	@[ -x $(PTXAS) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvcc-$(CUDA) nvidia-cuda-nvcc==$(CUDA)
	@[ -f $(NVRTC) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvrtc-$(CUDA) nvidia-cuda-nvrtc==$(CUDA)

# Quick checks before a commit: .golangci.yml says which. The first run builds golangci-lint.
check:
	$(LINT) run ./...
	go mod tidy -diff

# All packages but kernels, which starts no goroutines: its tests only take longer. The drivers and linalg run its kernels here.
race:
	CGO_ENABLED=1 go test -race -short -timeout 20m $$(go list ./... | grep -v /kernels)

# The paths that a plain run does not take: no assembly, scalar assembly, no cgo, the compiler's own FMA and wider vectors (a plain run is GOAMD64=v1), 32 bits.
variants:
	go test -short -tags purego ./internal/host ./backend/cpu ./linalg
	go test -short -tags scalarfma ./internal/host ./backend/cpu
	GOAMD64=v3 go test -short ./internal/host ./backend/cpu ./backend/cuda/ptxsim ./linalg/gonumblas ./conformance
	TANDEM_REQUIRE=opencl CGO_ENABLED=0 go test -short ./backend/... ./internal/dl ./linalg ./cmd/...
	CGO_ENABLED=0 GOARCH=386 go vet ./...

build:
	@for p in $(PLATFORMS); do \
		echo "build and vet $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./cmd/tandem && CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./... || exit 1; \
	done
	CGO_ENABLED=1 go build ./...

# All that is generated: PTX, assembly, and the tables of registers, which need NVIDIA's wheels.
generate: setup
	TANDEM_REQUIRE=clang,ptxas,nvrtc TANDEM_PTXAS=$(PTXAS) TANDEM_NVRTC=$(NVRTC) go generate ./...

# What a machine with a GPU, and without Go, needs to check Tandem: programs, sample files, the script that runs them. GOARCH=arm64 for Arm.
# The OpenCL loader of this machine goes along, for machines that have NVIDIA's OpenCL without one.
GPU      = build/gpu
GPUTESTS = backend/cuda backend/opencl kernels linalg

gpu-bundle:
	rm -rf $(GPU) && mkdir -p $(GPU)
	CGO_ENABLED=0 GOOS=linux go build -buildvcs=auto -trimpath -ldflags '-s -w' -o $(GPU)/tandem ./cmd/tandem
	for p in $(GPUTESTS); do CGO_ENABLED=0 GOOS=linux go test -c -trimpath -ldflags '-s -w' -o $(GPU)/$${p##*/}.test ./$$p || exit 1; done
	cp scripts/gpu-check.sh scripts/mma-check.cu testdata/a.npy testdata/b.npy $(GPU)
	@[ "$$(go env GOARCH)" != "$$(go env GOHOSTARCH)" ] || for f in /usr/lib/$$(uname -m)-linux-gnu/libOpenCL.so.1; do [ ! -e $$f ] || cp -L $$f $(GPU); done
	@size=$$(du -sm $(GPU) | cut -f1); echo "$(GPU): $$size MiB"; [ $$size -lt 60 ]

# The command for four systems, with checksums; the same bytes from the same revision and Go version.
release:
	scripts/release.sh

bench:
	go test -run '^$$' -bench . -benchmem ./internal/host ./kernels ./backend/cuda/... ./linalg/... ./bench

fmt:
	$(LINT) fmt
