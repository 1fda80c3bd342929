#!/usr/bin/env bash
# Checks and measures Tandem on the GPU of this machine, which needs neither Go nor the sources:
# `make gpu-bundle` puts this script beside the programs that it runs. check.sh --help says how.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1

usage() {
	cat <<'END_OF_USAGE'
usage: check.sh [PART ...]

Without a PART right and fast run. The parts, and what they take on an H200:

  right     is it right? The float64 matrix instruction, conformance, the tests of drivers,
            kernels and what stands above them, side by side. 200 s
  questions what only a GPU can tell of how kernels and tiles were chosen. 60 s
  fast      how fast? The benchmark, and CuPy beside it where it is installed. 180 s
  sanitize  compute-sanitizer over the kernels, which must also find the mistakes in two
            kernels that have some. 120 s

Environment:
  OUT       the folder of the results (default ./out): the logs, packed, reports, a comparison
  WORK      where programs are unpacked, and what is compiled is kept (default /tmp/tandem-gpu)
  BACKENDS  the drivers to check (default: cuda and opencl, those with a GPU); each of those
            named must have a device, and need not be a GPU
  SIZE      the rows of large matrices (default: some thousands)
  LIMIT     seconds after which no job begins, and those that run are ended (default 540): well
            below what the machine gives this script, so that the results are written
  TANDEM_CUDA_LIBRARY, TANDEM_OPENCL_LIBRARY, TANDEM_NVRTC, OCL_ICD_VENDORS
            as Tandem and the OpenCL loader take them

The exit code is 0 if every job passed, 1 if one did not, 2 for wrong arguments.
END_OF_USAGE
}

parts=()
for arg in "$@"; do
	case $arg in
	-h | --help) usage && exit 0 ;;
	right | questions | fast | sanitize) parts+=("$arg") ;;
	*) echo "check.sh: no part is named $arg; --help says more" >&2 && exit 2 ;;
	esac
done
[ ${#parts[@]} -gt 0 ] || parts=(right fast)
OUT=${OUT:-out} WORK=${WORK:-/tmp/tandem-gpu} LIMIT=${LIMIT:-540}
case $LIMIT in '' | *[!0-9]*) echo "check.sh: LIMIT is '$LIMIT', not a number of seconds" >&2 && exit 2 ;; esac
SECONDS=0
mkdir -p "$OUT" "$WORK/bin" "$WORK/run" && OUT=$(cd "$OUT" && pwd) && WORK=$(cd "$WORK" && pwd) || exit 1
logs=$WORK/logs bin=$WORK/bin
rm -rf "$logs" && mkdir "$logs" || exit 1
export TANDEM_CACHE=$WORK/cache CUDA_CACHE_PATH=$WORK/cuda-cache CUDA_CACHE_MAXSIZE=2147483648
export PATH=$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib

unpack() { # the programs; Python does it where there is no xz
	[ -e "$bin/programs.tar.xz" ] && cmp -s "$here/programs.tar.xz" "$bin/programs.tar.xz" && return
	if command -v xz >/dev/null; then
		tar -C "$bin" -xJf "$here/programs.tar.xz"
	else
		python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
			"$here/programs.tar.xz" "$bin"
	fi && cp "$here/programs.tar.xz" "$bin"
}
unpack || {
	echo "check.sh: $here has no programs.tar.xz: run the copy in the folder that make gpu-bundle fills" >&2
	exit 1
}

### What is here

# library prints the path of a shared library: as the loader has it, else in one of the folders
# given.
library() {
	local name=$1 path dir
	shift
	path=$(ldconfig -p 2>/dev/null | awk -v n="$name" '$1 == n { print $NF; exit }')
	[ ! -e "$path" ] || { echo "$path"; return; }
	for dir in "$@"; do
		[ ! -e "$dir/$name" ] || { echo "$dir/$name"; return; }
	done
	return 1
}

machine=$(uname -m)
folders=(/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib "/usr/lib/$machine-linux-gnu" /usr/lib64
	/usr/lib "/usr/lib/$machine-linux-gnu/nvidia/current" /run/opengl-driver/lib /usr/local/cuda/lib64)
while read -r site; do # Python's folders of packages
	folders+=("$site/nvidia/cu13/lib" "$site/nvidia/cuda_nvrtc/lib" "$site/nvidia/cublas/lib")
done < <(python3 -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)
nvrtc=''
for name in libcuda.so.1 libnvrtc.so.13 libcublas.so.13 libOpenCL.so.1; do
	if path=$(library $name "${folders[@]}" "$bin"); then
		echo "found: $path"
		LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$path") && export LD_LIBRARY_PATH
		[ $name != libnvrtc.so.13 ] || nvrtc=,nvrtc
	else
		echo "missing: $name"
	fi
done
# NVIDIA's OpenCL alone, so that it is the first device.
if [ -z "${OCL_ICD_VENDORS:-}${BACKENDS:-}" ] && path=$(library libnvidia-opencl.so.1 "${folders[@]}"); then
	echo "found: $path"
	mkdir -p "$WORK/vendors" && echo "$path" >"$WORK/vendors/nvidia.icd" && export OCL_ICD_VENDORS=$WORK/vendors
fi
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader 2>&1
timeout 60 "$bin/tandem" devices 2>&1 | tee "$OUT/devices.txt"
read -ra backends <<<"${BACKENDS:-}"
if [ ${#backends[@]} -eq 0 ]; then # the drivers that have a GPU
	mapfile -t backends < <(timeout 60 "$bin/tandem" devices --json 2>/dev/null | awk -F'"' '
		$2 == "driver" { d = $4 }
		$2 == "gpu" && $3 ~ /true/ && d != "cudasim" && !seen[d]++ { print d }')
	[ ${#backends[@]} -gt 0 ] || { echo 'check.sh: no driver has a GPU: see above' >&2; exit 1; }
fi

### Jobs: commands in the background, each with a log

names=()
job() { # NAME COMMAND...
	local name=$1 left=$((LIMIT - SECONDS))
	shift
	names+=("$name")
	if [ $left -le 0 ]; then
		echo "late 0" >"$logs/$name.rc" && : >"$logs/$name.log"
		return
	fi
	(
		cd "$WORK/run" || exit
		start=$SECONDS
		timeout -s QUIT -k 5 "$left" "$@" >"$logs/$name.log" 2>&1 </dev/null # Go prints where it hangs
		rc=$?
		[ $rc -ne 124 ] || rc=late
		echo "$rc $((SECONDS - start))" >"$logs/$name.rc"
	) &
}
alone() { job "$@" && wait; }

verdict='^ *--- FAIL|^panic|^fatal|^tandem: |SUMMARY: [1-9]|not golden'
failed=''
report() { # what came of the jobs so far; those that failed are last, with the lines around their mistakes
	local n rc s bad=() log
	wait
	printf '%-26s %4s %5s  %s\n' JOB EXIT SECS 'tests PASS FAIL SKIP'
	for n in "${names[@]}"; do
		read -r rc s <"$logs/$n.rc" && log=$logs/$n.log
		printf '%-26s %4s %5s  %s %s %s\n' "$n" "$rc" "$s" "$(grep -acE '^ *--- PASS' "$log")" \
			"$(grep -acE '^ *--- FAIL' "$log")" "$(grep -acE '^ *--- SKIP' "$log")"
		[ "$rc" = 0 ] || bad+=("$n")
	done
	for n in ${bad[@]+"${bad[@]}"}; do
		echo "== $n"
		grep -aE -A3 "$verdict|_test.go:[0-9]+: " "$logs/$n.log" |
			grep -avE -- '--- (PASS|SKIP)|^--$' | head -12 | cut -c1-200
	done | head -c 8000
	[ ${#bad[@]} -eq 0 ] || failed=1
	names=()
}

# The logs are packed whatever ends this script, but for the signal that nothing survives.
pack() { tar -C "$WORK" -czf "$OUT/logs.tar.gz" logs; }
trap pack EXIT
trap 'exit 1' INT TERM

### Parts

tests=(-test.v -test.timeout="${LIMIT}s")
# Tests that need the sources, or that nothing opened a session before.
needs='TestStale|TestInstances|TestLines|TestLinksWhatItUses|TestDefault|TestGenerated|TestComplete'
# One that takes so much memory that it runs alone.
large=TestMoreThan31Bits

# tested is the tests of a package on a backend: those that have a subtest of its name, or as flags
# say.
tested() { # BACKEND PACKAGE FLAGS...
	local b=$1 p=$2 require=$1
	shift 2
	[ "$b" != cuda ] || require=$b$nvrtc
	[ $# -gt 0 ] || set -- -test.run="^Test/^$b(:|\$)" -test.skip="^($needs|$large)\$"
	job "$b-$p" env TANDEM_REQUIRE="$require" TANDEM_BACKEND="$b" "$bin/$p.test" "${tests[@]}" "$@"
}

# driver_tests is the suite of a driver. What takes long runs beside the rest: on a GPU each test
# makes a context, which takes a third of a second. TestBuiltIn... needs the sources, TestSim... is
# of the simulated device, and TestLostInMidFlight runs last, alone.
driver_tests() {
	local b=$1 t p=backend-cuda long=(TestSuite TestEveryCallFails TestOperations TestCycles)
	local rest='TestLostInMidFlight|TestBuiltInKernelsThroughNVRTC|TestSim.*'
	[ "$b" != opencl ] || { tested opencl backend-opencl "-test.v" && return; }
	[ "$b" != cuda ] || long+=(TestSuiteNVRTC TestSuiteIntegrated)
	for t in "${long[@]}"; do
		rest+="|$t"
		job "$b-$t" env TANDEM_REQUIRE="$b" "$bin/$p.test" -driver="$b" "${tests[@]}" -test.short -test.run="^$t\$"
	done
	job "$b-driver" env TANDEM_REQUIRE="$b" "$bin/$p.test" -driver="$b" "${tests[@]}" -test.skip="^($rest)\$"
}

on_kernels='TestPTXLoads|TestProducts|TestMatMulDoesNotReadC|TestTallMatrices'
on_kernels+='|TestTransposes|TestElementwise|TestDialect'

right() {
	local b p
	if [[ " ${backends[*]} " = *' cuda '* ]] && command -v nvcc >/dev/null; then
		# shellcheck disable=SC2016 # the inner shell expands it
		job mma sh -c 'nvcc -O2 -arch=native -o mma "$0/mma-check.cu" && ./mma' "$bin"
	fi
	for b in "${backends[@]}"; do
		job "$b-conformance" "$bin/tandem" conformance --backend "$b" --json
		driver_tests "$b"
		tested "$b" kernels -test.run="^($on_kernels)\$/^$b(:|\$)"
		job "$b-busy" env TANDEM_REQUIRE="$b" "$bin/linalg.test" -test.run="^TestBusy\$/^$b\$" -busy=30s
		for p in linalg array array-np linalg-batched linalg-gonumblas examples-{gpt,kernels,seeds,scripts}; do
			tested "$b" $p
		done
		# shellcheck disable=SC2016 # the inner shell expands it
		job "$b-matmul" sh -c '"$0/tandem" matmul "$0/a.npy" "$0/b.npy" -o $1.npy --backend "$1" &&
			"$0/tandem" matmul "$0/a.npy" "$0/b.npy" -o $1-cpu.npy --backend cpu && cmp $1.npy $1-cpu.npy' "$bin" "$b"
	done
	wait
	for b in "${backends[@]}"; do # some 35 GiB
		alone "$b-large" env TANDEM_REQUIRE="$b" "$bin/array.test" "${tests[@]}" -test.run="^$large\$/^$b(:|\$)"
	done
	[[ " ${backends[*]} " != *' cuda '* ]] || # the GPU must survive it; this process may not
		alone cuda-lost env TANDEM_REQUIRE=cuda "$bin/backend-cuda.test" -driver=cuda "${tests[@]}" \
			-test.run='^TestLostInMidFlight$'
	report
	grep -ahE '^(YES|NO|m8n8k4|m16n8k16)' "$logs/mma.log" 2>/dev/null
	for b in "${backends[@]}"; do
		grep -aE '"(cases|variants|skipped|digest|golden|pass|seconds)":' "$logs/$b-conformance.log" |
			head -8 | tr -s ' \n' ' '
		echo "of $b"
	done
}

questions() {
	for b in "${backends[@]}"; do
		alone "$b-questions" env TANDEM_REQUIRE="$b" "$bin/kernels.test" "${tests[@]}" \
			-test.run="^TestQuestions\$/^$b(:|\$)" -questions="${SIZE:-4096}"
	done
	report
	for b in "${backends[@]}"; do
		sed '/^[-+=]/d; /^ *--- /d; /^PASS/d' "$logs/$b-questions.log"
	done
}

# fast is the benchmark, a part after the other, and CuPy. What takes longer is left out, and what
# was measured stays.
fast() {
	local bench=("$bin/tandem" bench --backend "${backends[0]}" --rounds 5)
	alone products "${bench[@]}" --only products,transposes --sizes "${SIZE:-1024,4096,8192}" --minutes 1 \
		-o "$OUT/products.txt"
	alone arrays "${bench[@]}" --only arrays ${SIZE:+--sizes "$SIZE"} --minutes 0.8 -o "$OUT/arrays.txt"
	alone lapack "${bench[@]}" --only lapack --type f8 --sizes "${SIZE:-1000,4096}" --minutes 0.5 -o "$OUT/lapack.txt"
	if python3 -c 'import cupy' 2>/dev/null; then
		# shellcheck disable=SC2016 # the inner shell expands it
		alone cupy sh -c 'exec python3 "$0/cupy_bench.py" --seconds 60 >"$1/cupy.txt"' "$bin" "$OUT"
	fi
	report
	if [ -e "$OUT/cupy.txt" ]; then
		python3 "$bin/compare.py" fast CuPy "$OUT"/{products,arrays,lapack,cupy}.txt | tee "$OUT/compare.txt"
	else
		grep -h '^|' "$logs"/{products,arrays,lapack}.log
	fi | head -c 9000
}

# The sanitizer must find nothing in the built-in kernels, and the mistakes in kernels that have
# them: so it is seen to look.
sanitize() {
	local tool found
	if ! command -v compute-sanitizer >/dev/null; then
		echo 'check.sh: compute-sanitizer is missing (CUDA toolkit)' >&2
		failed=1
		return
	fi
	cat >"$WORK/run/planted.cl" <<'END_OF_KERNELS'
__kernel void memcheck(__global float *out) { out[get_global_id(0) + 64] = 1; }

__kernel void racecheck(__global float *out)
{
	LOCALMEM float s[64];
	const int i = (int)get_local_id(0);
	s[i] = (float)i;
	out[i] = s[63 - i];
}
END_OF_KERNELS
	for tool in memcheck racecheck; do
		job $tool compute-sanitizer --tool $tool --error-exitcode 9 "$bin/tandem" conformance --quick --backend cuda
		found='Invalid __global__ write'
		[ $tool = memcheck ] || found='SUMMARY: [1-9]'
		# shellcheck disable=SC2016 # the inner shell expands it
		[ -z "$nvrtc" ] ||
			job $tool-planted sh -c 'f=$1; shift; "$@" | tee "$0"; grep -q "$f" "$0"' $tool.txt "$found" \
				compute-sanitizer --tool $tool "$bin/tandem" run planted.cl --kernel $tool --grid 1 --block 64 \
				--arg out:f4:64 -o $tool.npy --backend cuda
	done
	report
	grep -h 'SUMMARY' "$logs"/*check.log
}

for part in "${parts[@]}"; do
	"$part"
	echo "# $part: $SECONDS s"
done
echo "results in $OUT; to report: https://github.com/tandem-gpu/tandem/issues/new?template=hardware.yml"
[ -z "$failed" ]
