#!/usr/bin/env bash
# Checks and measures Tandem on the GPUs of this machine, which needs neither Go nor the sources:
# `make gpu-bundle` puts this script beside the programs that it runs. gpu-check.sh --help says how.
set -u

usage() {
	cat <<'END'
usage: gpu-check.sh [--quick] [STEP ...]

Without a STEP all run, but for bench-opencl. A step is a name of the table that
is printed at the end, such as suite-cuda, or its beginning: suite is both.

  devices      what is here, and what is missing; without a GPU the run fails
  questions    minutes: what only a GPU can tell of how kernels and tiles were
               chosen; 'gpu-check.sh devices questions' answers them alone
  ptx          does CUDA load all the PTX that is built in?
  mma          is the float64 matrix instruction the sequential chain, bit for bit?
               YES or NO; needs nvcc
  conformance  every built-in kernel on every device: the golden bits
  suite        the tests of the drivers
  kernels      the tests of the kernels
  linalg       the tests of the operations
  memcheck     compute-sanitizer over the kernels: access out of bounds
  racecheck    compute-sanitizer over the kernels: races on shared memory; both must
               also find the mistake in a kernel that has one
  matmul       the sample files, compared with the cpu device
  bench        the benchmark with peers; bench-opencl only where asked for
  tune         the search for faster tiles, only where asked for; bench goes without
               what it finds

  --quick      small shapes and short measurements: whether it works

Environment:
  OUT                 the folder of the results (default ./out), at most 8 files
  GPU_CHECK_BACKENDS  the drivers to check (default "cuda opencl"); each of those
                      named must have a device, and need not be a GPU
  GPU_CHECK_LIMIT     seconds that a step may take (default 540)
  TANDEM_CUDA_LIBRARY, TANDEM_OPENCL_LIBRARY, TANDEM_NVRTC, OCL_ICD_VENDORS
                      as Tandem and the OpenCL loader take them

The exit code is 0 if no step failed, 1 if one did, 2 for wrong arguments.
END
}

fail_usage() {
	echo "gpu-check.sh: $1; --help says more" >&2
	exit 2
}

quick='' chosen=()
for arg in "$@"; do
	case $arg in
	-h | --help) usage && exit 0 ;;
	--quick) quick=1 ;;
	devices | questions* | ptx* | mma | conformance* | suite* | kernels* | linalg* | memcheck* | racecheck* | \
		matmul* | bench* | tune*) chosen+=("$arg") ;;
	*) fail_usage "no step is named $arg" ;;
	esac
done
limit=${GPU_CHECK_LIMIT:-540}
case $limit in '' | *[!0-9]*) fail_usage "GPU_CHECK_LIMIT is '$limit', not a number of seconds" ;; esac
read -ra backends <<<"${GPU_CHECK_BACKENDS:-cuda opencl}"
for b in "${backends[@]}"; do
	case $b in
	cuda | cudasim | opencl) ;;
	*) fail_usage "GPU_CHECK_BACKENDS names $b; there are cuda, opencl and cudasim" ;;
	esac
done

here=$(cd "$(dirname "$0")" && pwd) || exit 1
for f in "$here"/*.gz; do # the programs, as they come
	[ ! -e "$f" ] || gzip -df "$f" || exit 1
done
for f in tandem cuda.test opencl.test kernels.test linalg.test a.npy b.npy mma-check.cu; do
	[ -e "$here/$f" ] || {
		echo "gpu-check.sh: $here has no $f: run the copy in the folder that make gpu-bundle fills" >&2
		exit 1
	}
done
mkdir -p "${OUT:=out}" && out=$(cd "$OUT" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
logs=$work/logs
mkdir "$logs" "$work/run"
# What is compiled is kept here alone, so that every run begins with nothing.
export TANDEM_CACHE=$work/cache CUDA_CACHE_PATH=$work/cuda-cache
export PATH=$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
command -v timeout >/dev/null || { echo 'gpu-check.sh: the program timeout of coreutils is missing' >&2; exit 1; }

### What is here

say() { echo "$*" | tee -a "$logs/machine.log"; }

# library prints the path of a shared library: as the loader has it, else in one of the folders
# given.
library() {
	local name=$1 path dir
	shift
	path=$(ldconfig -p 2>/dev/null | awk -v n="$name" '$1 == n { print $NF; exit }')
	if [ -e "$path" ]; then
		echo "$path"
		return
	fi
	IFS=: read -ra path <<<"${LD_LIBRARY_PATH:-}"
	for dir in ${path[@]+"${path[@]}"} "$@"; do
		if [ -e "$dir/$name" ]; then
			echo "$dir/$name"
			return
		fi
	done
	return 1
}

# reach makes the loader look in a folder, after all others.
reach() {
	case :${LD_LIBRARY_PATH:-}: in
	*:"$1":*) ;;
	*) export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1 ;;
	esac
}

driver_folders=(/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib "/usr/lib/$(uname -m)-linux-gnu"
	/usr/lib64 /usr/lib "/usr/lib/$(uname -m)-linux-gnu/nvidia/current" /run/opengl-driver/lib)
cuda_folders=(/usr/local/cuda/lib64)
while read -r site; do # Python's folders of packages
	cuda_folders+=("$site/nvidia/cu13/lib" "$site/nvidia/cuda_nvrtc/lib" "$site/nvidia/cublas/lib")
done < <(python3 -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)

nvidia='' driver='' gpus=''
find_driver() {
	local smi lib
	if ! command -v nvidia-smi >/dev/null; then
		say "nvidia-smi: missing (it comes with NVIDIA's driver)"
	elif smi=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1); then
		nvidia=1 gpus=$smi driver=$(awk -F', ' 'NR == 1 { print $2 }' <<<"$smi")
		say "nvidia-smi: ${smi//$'\n'/; }"
	else
		nvidia=1
		say "nvidia-smi: failed: $(tail -1 <<<"$smi")"
	fi
	if lib=$(library libcuda.so.1 "${driver_folders[@]}"); then
		nvidia=1
		say "NVIDIA's driver: $lib"
		reach "$(dirname "$lib")"
	else
		say "NVIDIA's driver: libcuda.so.1 is missing: neither the loader has it nor ${driver_folders[*]};" \
			"install the driver, or in a container ask for its GPUs"
	fi
}

find_cuda() {
	local name dir found=''
	for name in libnvrtc.so.13 libnvrtc.so.12 libcublas.so.13 libcublas.so.12; do
		if dir=$(library "$name" "${cuda_folders[@]}"); then
			say "CUDA: $dir"
			found="$found $name"
			reach "$(dirname "$dir")"
		fi
	done
	nvrtc=${TANDEM_NVRTC:-}
	case $found in *nvrtc*) nvrtc=1 ;; esac
	[ -n "$nvrtc" ] || say "NVRTC: missing (CUDA toolkit, or pip install nvidia-cuda-nvrtc):" \
		"tests that compile text are skipped on CUDA"
	case $found in
	*cublas*) ;;
	*) say "cuBLAS: missing (CUDA toolkit, or pip install nvidia-cublas): the benchmark goes without it" ;;
	esac
}

# NVIDIA's OpenCL is shown alone, so that it is the first device. A loader comes with the bundle,
# for machines without one.
find_opencl() {
	local lib icd=$work/vendors
	if lib=$(library libOpenCL.so.1 /usr/local/cuda/lib64 "$here"); then
		say "OpenCL loader: $lib"
		reach "$(dirname "$lib")"
	else
		say 'OpenCL loader: libOpenCL.so.1 is missing (Debian: ocl-icd-libopencl1)'
	fi
	[ -z "${OCL_ICD_VENDORS:-}${TANDEM_OPENCL_LIBRARY:-}${GPU_CHECK_BACKENDS:-}" ] || return 0
	if ! lib=$(library libnvidia-opencl.so.1 "${driver_folders[@]}"); then
		say "NVIDIA's OpenCL: libnvidia-opencl.so.1 is missing: neither the loader has it nor ${driver_folders[*]};" \
			"in a container NVIDIA_DRIVER_CAPABILITIES must hold compute"
		return
	fi
	say "NVIDIA's OpenCL: $lib"
	mkdir "$icd" && echo "$lib" >"$icd/nvidia.icd"
	if OCL_ICD_VENDORS=$icd list | grep -q '^opencl:'; then
		export OCL_ICD_VENDORS=$icd
	elif TANDEM_OPENCL_LIBRARY=$lib list | grep -q '^opencl:'; then
		export TANDEM_OPENCL_LIBRARY=$lib
		say "NVIDIA's OpenCL: used without the loader"
	fi
}

# list prints every device: its name for --backend, whether it is a GPU, and what it is called.
list() {
	timeout 60 "$here/tandem" devices --json 2>/dev/null | awk -F'"' '
		$2 == "driver" { d = $4 }
		$2 == "index" { i = $3; gsub(/[^0-9]/, "", i) }
		$2 == "name" { n = $4 }
		$2 == "gpu" { print d ":" i, ($3 ~ /true/ ? "gpu" : "cpu"), n }'
}

### Steps

# of prints the devices of a driver that are checked.
of() {
	awk -v b="$1" -v all="${GPU_CHECK_BACKENDS:-}" \
		'index($1, b ":") == 1 && (all != "" || $2 == "gpu") { print $1 }' <<<"$devices"
}

selected() {
	local c
	[ ${#chosen[@]} -gt 0 ] || case $1 in bench-opencl | tune-*) return 1 ;; *) return 0 ;; esac
	for c in "${chosen[@]}"; do
		case $c in "$1") return 0 ;; bench) [ "$1" = bench-opencl ] && continue ;; esac
		case $1 in "$c"-*) return 0 ;; esac
	done
	return 1
}

names=() results=() seconds=() details=() failed=''
note() { # NAME RESULT SECONDS DETAIL
	names+=("$1") results+=("$2") seconds+=("$3") details+=("$4")
	[ "$2" != failed ] || failed=1
	printf '%-22s %-8s %5s s  %s\n' "$1" "$2" "$3" "${4:0:160}"
	deliver # now, since this run may be ended from outside
}

skip() { ! selected "$1" || note "$1" skipped 0 "$2"; }

# step runs a command as the step NAME, with its output in NAME.log, or in the file $to. It has
# passed when it ends with 0 and its output holds the pattern $want; its detail is then the lines
# with the pattern $show.
want='' to='' show=''
step() {
	local name=$1 log=$logs/$1.log start=$SECONDS rc
	shift
	selected "$name" || return 0
	echo "+ $*" >"$log"
	(cd "$work/run" && exec timeout -k 10 "$limit" "$@") >"${to:-$work/output}" 2>>"$log" </dev/null
	rc=$?
	[ -n "$to" ] || cat "$work/output" >>"$log"
	local took=$((SECONDS - start)) why
	if [ $rc -eq 0 ] && grep -q -e "$want" "${to:-$log}"; then
		[ -z "$show" ] || show=$(grep -e "$show" "${to:-$log}" | head -3 | tr -s '\n ' '; ')
		note "$name" passed "$took" "$show"
		return
	fi
	local mistake='^(tandem: |panic: |fatal error: | *--- FAIL|={9} .*([Ii]nvalid|[Ee]rror|hazard))'
	case $rc in
	0) why="its output has no line with: $want" ;;
	124 | 137) why="stopped after $limit s" ;;
	*) why="exit code $rc: $(grep -aE "$mistake" "$log" | head -3 | tr -s '\n ' ' ')" ;;
	esac
	note "$name" failed "$took" "$why"
}

# Where nothing can be checked, or not what was asked for, the run has failed, whatever the steps.
check_devices() {
	local missing=() b
	for b in "${backends[@]}"; do
		[ -n "$(of "$b")" ] || missing+=("$b")
	done
	to=$logs/devices.txt step devices "$here/tandem" devices
	[ ! -e "$logs/devices.txt" ] || cat "$logs/devices.txt"
	if [ ${#missing[@]} -eq ${#backends[@]} ] || { [ ${#missing[@]} -gt 0 ] && [ -n "${GPU_CHECK_BACKENDS:-}" ]; } ||
		{ [ "${missing[0]:-}" = cuda ] && [ -n "$nvidia" ]; }; then
		note devices-found failed 0 "no device of ${missing[*]}: see above, or tandem devices"
	fi
}

# short are the flags of tests, conforming those of conformance.
short=() conforming=()
if [ -n "$quick" ]; then
	short=(-test.short) conforming=(--quick)
fi
tests=(-test.v -test.timeout="$((limit > 30 ? limit - 15 : limit))s" ${short[@]+"${short[@]}"})

# The kernels were made without a GPU. What they rest on is asked first.
check_questions() {
	local b=$1 size=(-questions=4096)
	[ -z "$quick" ] || size=()
	if [ -z "$(of "$b")" ] || [ "$b" = cudasim ]; then
		skip "questions-$b" "no device of $b that tells something"
		return
	fi
	want="--- PASS: TestQuestions/$b" step "questions-$b" env TANDEM_REQUIRE="$b" "$here/kernels.test" -test.v \
		-test.run="^TestQuestions\$/^$b(:|\$)" ${size[@]+"${size[@]}"}
}

check_backend() {
	local b=$1 d require=$1
	if [ -z "$(of "$b")" ]; then
		for d in ptx conformance suite kernels linalg matmul bench; do
			[ "$d" != ptx ] || [ "$b" != opencl ] || continue
			skip "$d-$b" "no device of $b"
		done
		return
	fi
	[ "$b" = opencl ] || show='kernels load' want="--- PASS: TestPTXLoads/$b" step "ptx-$b" \
		env TANDEM_REQUIRE="$b" "$here/kernels.test" -test.v -test.run="^TestPTXLoads\$/^$b(:|\$)"
	for d in $(of "$b"); do
		d=${d/:/-}
		want='"pass": true' to=$work/conformance-$d.json step "conformance-$d" \
			"$here/tandem" conformance --backend "${d/-/:}" --json ${conforming[@]+"${conforming[@]}"}
	done
	export TANDEM_BACKEND=$b
	[ "$b" = opencl ] || [ -z "$nvrtc" ] || require=$b,nvrtc
	if [ "$b" = opencl ]; then
		want='^PASS' step suite-opencl env TANDEM_REQUIRE="$require" "$here/opencl.test" "${tests[@]}"
	else
		simulated='' # a GPU's run leaves out the tests of the simulated one
		[ "$b" = cudasim ] || simulated='^TestSim|^TestSuiteNVRTC$/^cudasim$'
		want='^PASS' step "suite-$b" env TANDEM_REQUIRE="$require" "$here/cuda.test" -driver="$b" "${tests[@]}" \
			${simulated:+-test.skip="$simulated"}
	fi
	# The other tests of kernels and linalg need the sources, or no device.
	local on='TestProducts|TestMatMulDoesNotReadC|TestTallMatrices|TestTransposes|TestElementwise'
	on+='|TestChooseOnRealDevices|TestDialect'
	want="--- PASS: Test[A-Za-z]*/$b" step "kernels-$b" env TANDEM_REQUIRE="$require" "$here/kernels.test" \
		"${tests[@]}" -test.run="^($on)\$/^$b(:|\$)"
	want="--- PASS: Test[A-Za-z]*/$b" step "linalg-$b" env TANDEM_REQUIRE="$require" "$here/linalg.test" \
		"${tests[@]}" -test.run="^Test/^$b\$"
	# shellcheck disable=SC2016 # the inner shell expands them
	want='^the same bytes' step "matmul-$b" sh -c '"$0" matmul "$1/a.npy" "$1/b.npy" -o c.npy &&
		"$0" matmul "$1/a.npy" "$1/b.npy" -o want.npy --backend cpu && cmp c.npy want.npy &&
		echo the same bytes as on the cpu device' "$here/tandem" "$here"
	unset TANDEM_BACKEND
}

# What the float64 matrix instruction computes decides whether kernels may use it. Either answer
# passes.
check_mma() {
	if [ -z "$(of cuda)" ]; then
		skip mma 'no device of cuda'
	elif ! command -v nvcc >/dev/null; then
		skip mma 'nvcc is missing (CUDA toolkit)'
	else
		local answer='^YES: \|^NO: \|needs sm_'
		# shellcheck disable=SC2016 # the inner shell expands it
		want=$answer show=$answer step mma sh -c \
			'nvcc -O2 -arch=native -o mma-check "$0/mma-check.cu" && ./mma-check' "$here"
	fi
}

# The sanitizer must find nothing in the built-in kernels, and the mistakes in kernels that have
# them: so it is seen to look.
check_sanitizer() {
	local tool found b=${backends[0]}
	cat >"$work/run/planted.cl" <<'END'
__kernel void memcheck(__global float *out) { out[get_global_id(0) + 64] = 1; }

__kernel void racecheck(__global float *out)
{
	LOCALMEM float s[64];
	const int i = (int)get_local_id(0);
	s[i] = (float)i;
	out[i] = s[63 - i];
}
END
	for tool in memcheck racecheck; do
		if ! command -v compute-sanitizer >/dev/null; then
			skip $tool 'compute-sanitizer is missing (CUDA toolkit)'
			continue
		elif [ "$b" = opencl ] || [ -z "$(of "$b")" ]; then
			skip $tool 'no device of cuda'
			continue
		fi
		want='SUMMARY: 0 ' step $tool compute-sanitizer --tool $tool --error-exitcode 9 \
			"$here/tandem" conformance --quick --backend "$b"
		if [ -z "$nvrtc" ]; then
			skip $tool-planted 'NVRTC is missing'
			continue
		fi
		found='Invalid __global__ write'
		[ $tool = memcheck ] || found='SUMMARY: [1-9]'
		# shellcheck disable=SC2016 # the inner shell expands it
		want=$found step $tool-planted sh -c '! "$@"' sh compute-sanitizer --tool $tool --error-exitcode 9 \
			"$here/tandem" run planted.cl --kernel $tool --grid 1 --block 64 \
			--arg out:f4:64 -o planted.npy --backend "$b"
	done
}

check_bench() {
	local b flags=(--peers --minutes "$((limit > 120 ? (limit - 90) / 60 : 1))")
	[ -z "$quick" ] || flags+=(--quick)
	for b in "${backends[@]}"; do
		[ -n "$(of "$b")" ] || continue
		step "bench-$b" "$here/tandem" bench --backend "$b" "${flags[@]}" -o "$work/bench-$b.json"
	done
}

check_tune() {
	local b flags=(--minutes "$((limit > 120 ? (limit - 60) / 60 : 1))")
	[ -z "$quick" ] || flags=(--minutes 1 --trials 2 --sizes 64)
	for b in "${backends[@]}"; do
		[ -z "$(of "$b")" ] || step "tune-$b" env TANDEM_TUNE="$work/tune-$b.json" \
			"$here/tandem" tune --backend "$b" "${flags[@]}"
	done
}

### Results

# quote prints its argument as a JSON string.
quote() { printf '"%s"' "$(tr -s '[:cntrl:]' ' ' <<<"$1" | sed 's/ $//; s/[\\"]/\\&/g')"; }

summary() {
	local i processor
	processor=$(sed -n 's/^model name[^:]*: /, /p' /proc/cpuinfo 2>/dev/null | head -1)
	echo '{'
	echo "  \"date\": \"$date\","
	echo "  \"seconds\": $SECONDS,"
	echo "  \"passed\": $([ -n "$failed" ] && echo false || echo true),"
	echo "  \"finished\": ${finished:-false},"
	echo "  \"quick\": $([ -n "$quick" ] && echo true || echo false),"
	echo "  \"version\": $(quote "$("$here/tandem" version)"),"
	echo "  \"machine\": $(quote "$(uname -sm), $(nproc) processors$processor"),"
	echo "  \"gpus\": $(quote "${gpus//$'\n'/; }"),"
	echo "  \"driver\": $(quote "$driver"),"
	echo '  "devices": ['
	while read -r d _ n; do
		[ -z "$d" ] || printf '    {"device": %s, "name": %s},\n' "$(quote "$d")" "$(quote "$n")"
	done <<<"$devices" | sed '$ s/,$//'
	echo '  ],'
	echo '  "steps": ['
	for i in "${!names[@]}"; do
		printf '    {"step": %s, "result": "%s", "seconds": %s, "detail": %s},\n' \
			"$(quote "${names[i]}")" "${results[i]}" "${seconds[i]}" "$(quote "${details[i]}")"
	done | sed '$ s/,$//'
	echo '  ]'
	echo '}'
}

# deliver copies the results: at most 8 files. The archive holds everything.
deliver() {
	local f n=2
	summary >"$work/summary.json"
	cp "$work"/*.json "$logs"
	rm -f "$out"/summary.json "$out"/logs.tar.gz "$out"/conformance-*.json "$out"/bench-*.json "$out"/tune-*.json
	cp "$work/summary.json" "$out"
	for f in "$work"/bench-*.json "$work"/tune-*.json "$work"/conformance-*.json; do
		if [ -s "$f" ] && [ $((n += 1)) -le 8 ]; then
			cp "$f" "$out"
		fi
	done
	tar -C "$work" -czf "$out/logs.tar.gz" logs
}

date=$(date -u +%Y-%m-%dT%H:%M:%SZ) nvrtc='' finished=''
find_driver
find_cuda
find_opencl
devices=$(list)
check_devices
for b in "${backends[@]}"; do
	check_questions "$b"
done
for b in "${backends[@]}"; do
	check_backend "$b"
done
check_mma
check_sanitizer
check_bench
check_tune
finished=true
deliver
echo
printf '%-22s %-8s %s\n' STEP RESULT SECONDS
for i in "${!names[@]}"; do
	printf '%-22s %-8s %7s\n' "${names[i]}" "${results[i]}" "${seconds[i]}"
done
# The answers, without what go test says.
for f in "$logs"/questions-*.log; do
	[ ! -e "$f" ] || { echo && sed '/^[-+=]/d; /^ *--- /d; /^PASS/d' "$f"; }
done
# How far the kernels are from cuBLAS and from a copy.
for f in "$logs"/bench-*.log; do
	[ ! -e "$f" ] || sed -n '/^peak /p; /^[a-z0-9]* \(product\|transpose\) /,/^$/p' "$f"
done
echo 'To report: https://github.com/tandem-gpu/tandem/issues/new?template=hardware.yml'
echo "results in $out: $(cd "$out" && echo *)"
[ -z "$failed" ]
