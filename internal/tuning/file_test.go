package tuning

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
)

// gpu is a device that no machine has.
var gpu = backend.Info{
	Driver: "cuda", Platform: "CUDA", Vendor: "Acme", Name: "Rocket 9", Arch: "sm_90", Version: "1.2", GPU: true,
	ComputeUnits: 10,
	LocalMemory:  48 << 10, MaxGroup: 1024, VectorFloat32: 1, VectorFloat64: 1, VectorInt32: 1,
}

// Winners that the shipped data do not have.
var (
	small  = kernels.MatMulParams{BM: 16, BN: 16, BK: 4, TM: 4, TN: 4, KU: 1}
	large  = kernels.MatMulParams{BM: 32, BN: 64, BK: 8, TM: 4, TN: 8, KU: 2}
	moved  = kernels.TransposeParams{Tile: 64, Step: 4}
	gpuOwn = Record{
		Device: DeviceIDOf(&gpu), Date: time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC), Tandem: "v1",
		MatMul: []Tuned[kernels.MatMulParams]{
			{Type: "float32", N: 4096, Params: large, Seconds: 0.25, Trials: []Trial[kernels.MatMulParams]{
				{Params: small, Seconds: []float64{0.5}, Note: "slower"},
				{Params: large, Seconds: []float64{0.25, 0.5, 0.125}},
			}},
			{Type: "float32", N: 256, Params: small},
		},
		Transpose: []Tuned[kernels.TransposeParams]{{Type: "int32", N: 1024, Params: moved}},
		Crossover: []Crossing{
			{Type: "float32", Host: HostName(), N: 300},
			{Type: "float64", Host: HostName(), Never: true},
			{Type: "int32", Host: "abacus", N: 5},
		},
	}
)

// useFile makes the process use a tuning file, until the test ends.
func useFile(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(Reload) // after the environment is as it was
	t.Setenv(Env, name)
	Reload()
}

// tuningFile writes a file with these devices.
func fileOf(t *testing.T, devices ...Record) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "") // which nobody else may write, whatever the umask
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "tune.json")
	if err := write(name, &Data{Format: format, Devices: devices}); err != nil {
		t.Fatal(err)
	}
	return name
}

// The user's parameters come before all others, on their device alone, at the nearest size.
func TestUser(t *testing.T) {
	useFile(t, "off")
	shippedLarge, shippedMoved := ChooseMatMul(&gpu, element.Float32, 4096, 4096, 4096),
		ChooseTranspose(&gpu, element.Int32, 4096, 4096)
	useFile(t, fileOf(t,
		Record{
			Device: DeviceID{Name: "another"},
			MatMul: []Tuned[kernels.MatMulParams]{{Type: "float32", N: 64, Params: large}},
		}, gpuOwn))
	for _, c := range []struct {
		m, n, k int
		want    kernels.MatMulParams
	}{
		{4096, 4096, 4096, large},
		{1 << 20, 1 << 20, 1 << 20, large},
		{1030, 1030, 1030, large}, // just beyond the geometric mean of 256 and 4096
		{1020, 1020, 1020, small},
		{256, 256, 256, small},
		{128, 128, 128, small},
		{1 << 20, 1 << 20, 100, small}, // harmonic mean 300
	} {
		if p := ChooseMatMul(&gpu, element.Float32, c.m, c.n, c.k); p != c.want {
			t.Errorf("%dx%dx%d: %+v, want %+v", c.m, c.k, c.n, p, c.want)
		}
	}
	if p := ChooseMatMul(&gpu, element.Float32, 127, 127, 127); p == small || p == large {
		t.Errorf("below half of all measured sizes: %+v", p)
	}
	if p := ChooseMatMul(&gpu, element.Float32, 0, 5, 5); p.Validate(element.Float32) != nil {
		t.Errorf("of nothing: %+v", p)
	}
	if p := ChooseTranspose(&gpu, element.Int32, 4096, 4096); p != moved {
		t.Errorf("transpose: %+v", p)
	}
	if p := ChooseTranspose(&gpu, element.Float32, 4096, 4096); p == moved {
		t.Errorf("a type that was not tuned: %+v", p)
	}
	for name, other := range map[string]func(*backend.Info){
		"driver version": func(i *backend.Info) { i.Version = "1.3" },
		"name":           func(i *backend.Info) { i.Name = "Rocket 9 Ti" },
		"units":          func(i *backend.Info) { i.ComputeUnits = 11 },
	} {
		info := gpu
		other(&info)
		if p, q := ChooseMatMul(&info, element.Float32, 4096, 4096, 4096),
			ChooseTranspose(&info, element.Int32, 4096, 4096); p != shippedLarge || q != shippedMoved {
			t.Errorf("another %s: %+v, %+v", name, p, q)
		}
	}
	if all := TunedMatMul(&gpu, element.Float32); !slices.Contains(all, small) || !slices.Contains(all, large) ||
		!slices.Contains(all, shippedLarge) {
		t.Errorf("all parameters are %+v", all)
	}
	if all := TunedTranspose(&gpu, element.Int32); !slices.Contains(all, moved) || !slices.Contains(all, shippedMoved) {
		t.Errorf("all parameters are %+v", all)
	}
}

// Parameters that are not valid, or do not fit the device, are as if they were not there.
func TestUserThatDoesNotFit(t *testing.T) {
	useFile(t, "off")
	want := ChooseMatMul(&gpu, element.Float32, 512, 512, 512)
	for name, p := range map[string]kernels.MatMulParams{
		"zero":         {},
		"huge":         {BM: math.MaxInt, BN: 16, BK: 4, TM: 4, TN: 4, KU: 1},
		"local memory": {BM: 128, BN: 128, BK: 64, TM: 8, TN: 8, KU: 8},
		"cpu shape":    {CPU: true, BM: 8, BN: 8, BK: 8, TM: 4, TN: 4, KU: 1, VW: 4},
	} {
		d := gpuOwn
		d.MatMul = []Tuned[kernels.MatMulParams]{{Type: "float32", N: 512, Params: p}}
		useFile(t, fileOf(t, d))
		if got := ChooseMatMul(&gpu, element.Float32, 512, 512, 512); got != want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := d.Ignored(&gpu); !slices.Equal(got[:1], []string{"matmul float32 512"}) {
			t.Errorf("%s: ignored are %q", name, got)
		}
	}
	if got := gpuOwn.Ignored(&gpu); got != nil {
		t.Errorf("%q are ignored and fit", got)
	}
	d := gpuOwn
	d.MatMul = []Tuned[kernels.MatMulParams]{
		{Type: "float32", N: -1, Params: small},
		{Type: "float33", N: 512, Params: small},
	}
	useFile(t, fileOf(t, d))
	if got := ChooseMatMul(&gpu, element.Float32, 512, 512, 512); got != want {
		t.Errorf("no size, no type: %+v", got)
	}
}

// What does not compile is forgotten, on its device alone, until the file is read anew.
func TestForget(t *testing.T) {
	other := gpu
	other.Name = "Rocket 10"
	own := gpuOwn
	own.Device = DeviceIDOf(&other)
	useFile(t, fileOf(t, gpuOwn, own))
	Forget(&gpu)
	Forget(&gpu)
	if ChooseMatMul(&gpu, element.Float32, 4096, 4096, 4096) == large ||
		ChooseMatMul(&other, element.Float32, 4096, 4096, 4096) != large {
		t.Error("forgotten on another device, or not at all")
	}
	Reload()
	if ChooseMatMul(&gpu, element.Float32, 4096, 4096, 4096) != large {
		t.Error("forgotten for ever")
	}
}

// A file that is none breaks nothing; UserTuning says what is wrong with it.
func TestUserBroken(t *testing.T) {
	useFile(t, "off")
	want := ChooseMatMul(&gpu, element.Float32, 512, 512, 512)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "text": "hello", "list": "[]", "cut": `{"format": 1, "devices": [{"device": {"na`,
		"foreign": `{"rows": 5}`, "later": `{"format": 2, "devices": []}`,
		"wrong types": `{"format": 1, "devices": [{"matmul": "none"}]}`, "two": `{"format": 1, "devices": []}{}`,
		"null": "null",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		useFile(t, file)
		if got := ChooseMatMul(&gpu, element.Float32, 512, 512, 512); got != want {
			t.Errorf("%s: %+v", name, got)
		}
		if _, got, err := User(); err == nil || got != file || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: file %q, error %v", name, got, err)
		}
	}
	useFile(t, dir)
	if _, _, err := User(); err == nil || ChooseMatMul(&gpu, element.Float32, 512, 512, 512) != want {
		t.Errorf("a folder: error %v", err)
	}
	useFile(t, filepath.Join(dir, "missing"))
	if d, _, err := User(); err != nil || len(d.Devices) != 0 ||
		ChooseMatMul(&gpu, element.Float32, 512, 512, 512) != want {
		t.Errorf("no file: error %v", err)
	}
}

// The environment names the file, or none.
func TestFileName(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ tune, cache, want string }{
		{"off", dir, ""},
		{filepath.Join(dir, "mine"), "off", filepath.Join(dir, "mine")},
		{"", "off", ""},
		{"", dir, filepath.Join(dir, "tune.json")},
	} {
		t.Setenv(Env, c.tune)
		t.Setenv(backend.EnvCache, c.cache)
		if got := fileName(); got != c.want {
			t.Errorf("%s=%s %s=%s: %q, want %q", Env, c.tune, backend.EnvCache, c.cache, got, c.want)
		}
	}
	t.Setenv(Env, "")
	t.Setenv(backend.EnvCache, "")
	user, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	if got, want := fileName(), filepath.Join(user, "tandem", "tune.json"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file in the cache that others may have written is not read; one that the user names is.
func TestOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not tell who may write")
	}
	t.Cleanup(Reload)
	dir := t.TempDir()
	file := filepath.Join(dir, "tune.json")
	if err := write(file, &Data{Format: format, Devices: []Record{gpuOwn}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, folder os.FileMode
		tune         string
		devices      int
	}{
		{0o600, 0o700, "", 1},
		{0o644, 0o755, "", 1},
		{0o666, 0o700, "", 0},
		{0o600, 0o777, "", 0},
		{0o666, 0o777, file, 1},
	} {
		if err := errors.Join(os.Chmod(file, c.file), os.Chmod(dir, c.folder)); err != nil {
			t.Fatal(err)
		}
		t.Setenv(backend.EnvCache, dir)
		t.Setenv(Env, c.tune)
		Reload()
		d, _, err := User()
		if c.devices == 0 && (err == nil || !strings.Contains(err.Error(), "others may write")) {
			t.Errorf("modes %o and %o: %v", c.file, c.folder, err)
		}
		if d == nil && c.devices > 0 || d != nil && len(d.Devices) != c.devices {
			t.Errorf("modes %o and %o: %+v, %v", c.file, c.folder, d, err)
		}
	}
}

// What is written is read again, and nobody else reads it.
func TestWrite(t *testing.T) {
	name := fileOf(t, gpuOwn)
	got, err := read(name)
	if err != nil {
		t.Fatal(err)
	}
	d := got.Find(&gpu)
	if d == nil || d.Date != gpuOwn.Date || d.Tandem != "v1" || len(d.MatMul) != 2 || len(d.MatMul[0].Trials) != 2 ||
		d.MatMul[0].Trials[0].Note != "slower" || len(d.Crossover) != 3 {
		t.Errorf("read again: %+v", d)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".tune-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	if err := write(filepath.Join(name, "below a file"), got); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// Whoever keeps something at the same time loses nothing, in this process and in others.
func TestKeepAtOnce(t *testing.T) {
	const processes, each = 4, 8
	if n, err := strconv.Atoi(os.Getenv("TANDEM_TEST_KEEP")); err == nil {
		var all sync.WaitGroup
		for i := range each {
			all.Go(func() {
				if err := Keep(&Record{Device: DeviceID{Name: fmt.Sprint(n, i)}}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return
	}
	name := filepath.Join(t.TempDir(), "folder", "tune.json")
	var all sync.WaitGroup
	for n := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKeepAtOnce$")
		cmd.Env = append(os.Environ(), Env+"="+name, fmt.Sprint("TANDEM_TEST_KEEP=", n))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	if got, err := read(name); err != nil || len(got.Devices) != processes*each {
		t.Errorf("%v: %d records of %d", err, len(got.Devices), processes*each)
	}
}

// A newer result takes the place of the older one for its type and size; everything else stays.
func TestMerge(t *testing.T) {
	old := &Data{Format: format, Devices: []Record{{Device: DeviceID{Name: "another"}}}}
	old.merge(&gpuOwn)
	newer := Record{
		Device: gpuOwn.Device, Date: gpuOwn.Date.Add(time.Hour), Tandem: "v2",
		MatMul: []Tuned[kernels.MatMulParams]{
			{Type: "float32", N: 256, Params: large},
			{Type: "float64", N: 256, Params: small},
		},
		Crossover: []Crossing{{Type: "float32", Host: HostName(), N: 400}, {Type: "int32", Host: HostName(), N: 6}},
	}
	old.merge(&newer)
	d := old.Find(&gpu)
	if len(old.Devices) != 2 || d == nil || d.Tandem != "v2" || !d.Date.Equal(newer.Date) {
		t.Fatalf("%+v", old)
	}
	params := map[string]kernels.MatMulParams{}
	for _, w := range d.MatMul {
		params[w.Type+" "+map[int]string{256: "256", 4096: "4096"}[w.N]] = w.Params
	}
	if len(d.MatMul) != 3 || params["float32 256"] != large || params["float32 4096"] != large ||
		params["float64 256"] != small || len(d.Transpose) != 1 || len(d.Crossover) != 4 {
		t.Errorf("%+v", d)
	}
}

// The user's crossover comes before the shipped one, and holds beside the host it was measured
// with.
func TestCrossover(t *testing.T) {
	useFile(t, "off")
	assembly := host.InstructionSet() != "go"
	pocl := backend.Info{
		Driver: "opencl", Name: "pthread-skylake", ComputeUnits: 2, VectorFloat32: 16,
		VectorFloat64: 8,
	}
	for _, typ := range element.Types() {
		if size, ok := Crossover(&gpu, typ); ok {
			t.Errorf("%s on an unknown GPU: %d", typ, size)
		}
		if size, ok := Crossover(&backend.Info{Host: true}, typ); !ok || size != math.MaxInt {
			t.Errorf("%s on the cpu device: %d, %v", typ, size, ok)
		}
		if size, ok := Crossover(&pocl, typ); ok != assembly || ok && size != math.MaxInt {
			t.Errorf("%s on an OpenCL CPU device: %d, %v", typ, size, ok)
		}
	}
	own := Record{Device: DeviceIDOf(&pocl), Crossover: []Crossing{
		{Type: "float32", Host: HostName(), N: 77},
		{Type: "float64", Host: HostName(), N: -5},
	}}
	useFile(t, fileOf(t, gpuOwn, own))
	for _, c := range []struct {
		info *backend.Info
		typ  element.Type
		size int
		ok   bool
	}{
		{&gpu, element.Float32, 300, true},
		{&gpu, element.Float64, math.MaxInt, true},
		{&gpu, element.Int32, 0, false},
		{&pocl, element.Float32, 77, true},
	} {
		if size, ok := Crossover(c.info, c.typ); size != c.size || ok != c.ok {
			t.Errorf("%s on %s: %d, %v, want %d, %v", c.typ, c.info.Name, size, ok, c.size, c.ok)
		}
	}
	if size, ok := Crossover(&pocl, element.Float64); ok != assembly || size == -5 {
		t.Errorf("no size: %d, %v", size, ok)
	}
}

// Choosing anew allocates nothing, and many goroutines may do it while the file is read anew.
func TestChooseAgain(t *testing.T) {
	useFile(t, fileOf(t, gpuOwn))
	info := gpu
	if n := testing.AllocsPerRun(100, func() {
		ChooseMatMul(&info, element.Float32, 512, 512, 512)
		ChooseMatMul(&info, element.Float64, 512, 512, 512)
		ChooseTranspose(&info, element.Int32, 512, 512)
		Crossover(&info, element.Float32)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				other := gpu
				other.ComputeUnits = 10 + i%2
				if p := ChooseMatMul(&other, element.Float32, 4096, 4096, 4096); (p == large) != (i%2 == 0) {
					t.Errorf("%d units: %+v", other.ComputeUnits, p)
				}
				if i%10 == 0 {
					Reload()
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkChooseMatMul(b *testing.B) {
	info := gpu
	for b.Loop() {
		ChooseMatMul(&info, element.Float32, 64, 64, 64)
	}
}

// What a process keeps of devices is bounded.
func TestDevicesAreBounded(t *testing.T) {
	useFile(t, "off")
	info := gpu
	for i := range 3 * maxDevices {
		info.Memory = int64(i)
		ChooseMatMul(&info, element.Float32, 64, 64, 64)
	}
	if n := len(current.Load().devices); n > maxDevices {
		t.Errorf("%d devices are kept", n)
	}
}
