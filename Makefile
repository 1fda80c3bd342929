# The commands of the project. `make test` is the whole test run; CONTRIBUTING.md says more.

GOFUMPT     = go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

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

PLATFORMS = linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: test oclgrind setup check race variants build generate gpu-bundle bench fmt

# Everything that must pass, with what it needs installed first.
test: setup
	TANDEM_REQUIRE=$(REQUIRE) TANDEM_PTXAS=$(PTXAS) TANDEM_NVRTC=$(NVRTC) go test -timeout 20m ./...
	$(MAKE) --no-print-directory oclgrind

# The built-in kernels under oclgrind, at reduced shapes: no access outside a buffer, no data race, nothing read before it was written, no wrong
# call. Its exit code tells nothing: the log must be empty, and the count of instructions shows that kernels ran.
OCLGRIND = OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
	OCLGRIND_UNINITIALIZED=1 OCLGRIND_INST_COUNTS=1 OCLGRIND_LOG=$(CURDIR)/build/oclgrind.log TANDEM_CACHE=off

oclgrind:
	@mkdir -p build; : >build/oclgrind.log
	$(OCLGRIND) TANDEM_REQUIRE=opencl go test -count=1 -p 1 -v -short -run '^(TestProducts|TestMatMulDoesNotReadC|TestTransposes|TestElementwise)$$' ./kernels >build/oclgrind.out 2>&1 || \
		{ tail -40 build/oclgrind.out; exit 1; }
	@if [ -s build/oclgrind.log ]; then head -40 build/oclgrind.log; exit 1; fi
	@grep -q 'Instructions executed for kernel' build/oclgrind.out || { echo 'no kernel ran under oclgrind'; exit 1; }
	@echo "oclgrind: $$(grep -c 'Instructions executed for kernel' build/oclgrind.out) launches, nothing to report"

setup:
	@command -v apt-get >/dev/null || { echo "make setup installs Debian packages; elsewhere install the equivalents of: $(DEBIAN)"; exit 0; }; \
	missing=$$(for p in $(DEBIAN); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	python3 -m pip --version >/dev/null 2>&1 || missing="$$missing python3-pip"; \
	[ -z "$$missing" ] || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; }
	@[ -x $(PTXAS) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvcc-$(CUDA) nvidia-cuda-nvcc==$(CUDA)
	@[ -f $(NVRTC) ] || $(PIP) $(WHEELS)/nvidia-cuda-nvrtc-$(CUDA) nvidia-cuda-nvrtc==$(CUDA)

# Quick checks before a commit.
check:
	@bad=$$($(GOFUMPT) -l .); [ -z "$$bad" ] || { echo "not formatted by gofumpt: $$bad"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	go mod tidy -diff

race:
	CGO_ENABLED=1 go test -race -short -timeout 20m ./...

# The paths that a plain run does not take: no assembly, no cgo, other CPU levels.
variants:
	go test -short -tags purego ./internal/host ./backend/cpu ./linalg
	CGO_ENABLED=0 go test -short ./...

build:
	@for p in $(PLATFORMS); do \
		echo "build and vet $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build ./... && CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./... || exit 1; \
	done
	CGO_ENABLED=1 go build ./...

generate:
	go generate ./...

# What a machine with a GPU, and without Go, needs to check Tandem: programs, sample files, the script that runs them. GOARCH=arm64 for Arm.
# The OpenCL loader of this machine goes along, for machines that have NVIDIA's OpenCL without one.
GPU      = build/gpu
GPUTESTS = backend/cuda backend/opencl kernels linalg

gpu-bundle:
	rm -rf $(GPU) && mkdir -p $(GPU)
	CGO_ENABLED=0 GOOS=linux go build -buildvcs=auto -trimpath -ldflags '-s -w' -o $(GPU)/tandem ./cmd/tandem
	for p in $(GPUTESTS); do CGO_ENABLED=0 GOOS=linux go test -c -trimpath -ldflags '-s -w' -o $(GPU)/$${p##*/}.test ./$$p || exit 1; done
	cp scripts/gpu-check.sh testdata/a.npy testdata/b.npy $(GPU)
	@[ "$$(go env GOARCH)" != "$$(go env GOHOSTARCH)" ] || for f in /usr/lib/$$(uname -m)-linux-gnu/libOpenCL.so.1; do [ ! -e $$f ] || cp -L $$f $(GPU); done
	@size=$$(du -sm $(GPU) | cut -f1); echo "$(GPU): $$size MiB"; [ $$size -lt 60 ]

bench:
	go test -run '^$$' -bench . -benchmem ./internal/host ./bench ./linalg/gonumblas

fmt:
	$(GOFUMPT) -w .
