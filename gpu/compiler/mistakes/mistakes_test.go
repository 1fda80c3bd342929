package mistakes

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

var grid = backend.Grid1(2, 4)

// each calls f for a checked session on every kind of device that compiles text, and the cpu
// device.
func each(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		t.Run(spec, func(t *testing.T) {
			s := open(t, spec)
			s.SetChecked(true)
			f(t, s)
		})
	}
}

// open opens a session on spec for the test, which is skipped where the device or its compiler of
// text is missing.
func open(t *testing.T, spec string) *linalg.Session {
	t.Helper()
	if spec == "cudasim" && os.Getenv("TANDEM_NVRTC") == "" {
		backendtest.Require(t, "nvrtc", errors.New("the simulated GPU needs NVRTC for text"))
	}
	s, err := linalg.Open(spec)
	if errors.Is(err, backend.ErrNoDevice) {
		backendtest.Require(t, spec, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// line is where the mistake of a kernel is: the first line behind head that says so.
func line(t *testing.T, file, head string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), head)
	before, _, marked := strings.Cut(rest, "// mistake")
	if !ok || !marked {
		t.Fatalf("%s has no mistake in %s", file, head)
	}
	return fmt.Sprintf("%s:%d", file, strings.Count(string(text), "\n")-strings.Count(rest[len(before):], "\n")+1)
}

// Without checks, too, the cpu device finds an index out of range, where each lane of a strip has
// its own as well: in whole strips and in those that lack lanes.
func TestUnchecked(t *testing.T) {
	s := open(t, "cpu")
	for _, n := range []int{8, 64, 67} {
		grid, out := backend.Grid1(1, n), make([]int32, n)
		out[5] = -3
		for _, c := range []struct {
			err  error
			want string
		}{
			{LaunchStores[float32](s, grid, make([]float32, n)), fmt.Sprintf("[%d] with length %d", n+2, n)},
			{LaunchStores[int64](s, grid, make([]int64, n)), fmt.Sprintf("[%d] with length %d", n+2, n)},
			{LaunchLoads(s, grid, out, make([]int32, n)), "[-3]"},
		} {
			if c.err == nil || !strings.Contains(c.err.Error(), "index out of range "+c.want) {
				t.Errorf("%d work-items: %v, want %s", n, c.err, c.want)
			}
		}
	}
}

// A checked launch names the mistake, its line, the numbers and the work-item; nothing is written
// outside, and the session goes on.
func TestChecked(t *testing.T) {
	const file = "kernels.go"
	each(t, func(t *testing.T, s *linalg.Session) {
		cpu := s.Info().Driver == "cpu"
		for _, c := range []struct {
			name, where string
			launch      func(out, x []int32) error
			want, onCPU string
		}{
			{"Stores", line(t, file, "func Stores"), func(out, _ []int32) error {
				return LaunchStores[float32](s, grid, make([]float32, 8))
			}, "index 10 out of range of length 8", "index out of range [10] with length 8"},
			{"Stores int64", line(t, file, "func Stores"), func(out, _ []int32) error {
				return LaunchStores[int64](s, grid, make([]int64, 8))
			}, "index 10 out of range of length 8", "index out of range [10] with length 8"},
			{"Loads", line(t, file, "func Loads"), func(out, x []int32) error {
				out[5] = -3
				return LaunchLoads(s, grid, out, x)
			}, "index -3 out of range of length 8", "index out of range [-3]"},
			{"Empties", line(t, file, "func Empties"), func(out, _ []int32) error {
				return LaunchEmpties(s, grid, out, []int32{})
			}, "index 0 out of range of length 0", "index out of range [0] with length 0"},
			{"Rows", line(t, file, "func Rows"), func(_, x []int32) error {
				return LaunchRows(s, grid, linalg.NewMatrix(2, 4, x))
			}, "row 2 of a matrix of 2 rows", "element (2, 1) outside a matrix of 2x4"},
			{"Columns", line(t, file, "func Columns"), func(out, x []int32) error {
				return LaunchColumns(s, grid, out, linalg.NewMatrix(2, 4, x))
			}, "column 4 of a matrix of 4 columns", "element (0, 4) outside a matrix of 2x4"},
			{"Views", line(t, file, "func Views"), func(out, x []int32) error {
				return LaunchViews(s, grid, out, x)
			}, "index 9 out of range of length 8", "index out of range [9] with length 8"},
			{"Shared", line(t, file, "func Shared"), func(out, _ []int32) error {
				return LaunchShared(s, backend.Grid1(1, 8), out)
			}, "index 8 out of range of length 8", "index out of range [8] with length 8"},
			{"Private", line(t, file, "func Private"), func(out, _ []int32) error {
				return LaunchPrivate(s, grid, out)
			}, "index 2 out of range of length 2", "index out of range [2] with length 2"},
			{"Slices", line(t, file, "func Slices"), func(out, x []int32) error {
				return LaunchSlices(s, grid, out, x)
			}, "slice bound 9 out of range, which ends at 8", "slice bounds out of range [:9]"},
			{"Longer", line(t, file, "func Longer"), func(out, _ []int32) error {
				return LaunchLonger(s, grid, out, make([]int32, 9))
			}, "slice bound 9 out of range, which ends at 8", "slice bounds out of range [:9]"},
			{"Reversed", line(t, file, "func Reversed"), func(out, x []int32) error {
				return LaunchReversed(s, grid, out, x)
			}, "slice bound 5 out of range, which ends at 2", "slice bounds out of range [5:2]"},
			{"Divides", line(t, file, "func Divides"), func(out, x []int32) error {
				return LaunchDivides(s, grid, out, x)
			}, "integer division by 0", "integer divide by zero"},
			{"Searches", line(t, file, "func Searches"), func(out, x []int32) error {
				return LaunchSearches(s, grid, out, x)
			}, "index 8 out of range of length 8", "index out of range [8] with length 8"},
			{"Counts", line(t, file, "func Counts"), func(out, _ []int32) error {
				return LaunchCounts(s, grid, out)
			}, "index 9 out of range of length 8", "index out of range [9] with length 8"},
			{"Waits", line(t, file, "func Waits"), func(out, x []int32) error {
				return LaunchWaits(s, grid, out, x)
			}, "index 8 out of range of length 8", "index out of range [8] with length 8"},
			{"Agrees", line(t, file, "func Agrees"), func(out, x []int32) error {
				return LaunchAgrees(s, grid, out, x)
			}, "index 8 out of range of length 8", "index out of range [8] with length 8"},
			{"Moves", line(t, file, "move("), func(out, _ []int32) error {
				return LaunchMoves(s, grid, out, make([]Body, 8))
			}, "index 3 out of range of length 3", "index out of range [3] with length 3"},
			{"Elsewhere", line(t, "other.go", "func second"), func(out, _ []int32) error {
				return LaunchElsewhere(s, grid, out)
			}, "index 8 out of range of length 8", "index out of range [8] with length 8"},
		} {
			out, x := make([]int32, 8, 16), []int32{1, 2, 3, 4, 5, 6, 7, 8}
			beyond := out[8:16]
			copy(beyond, []int32{-1, -2, -3, -4, -5, -6, -7, -8})
			guard := slices.Clone(beyond)
			err := c.launch(out, x)
			item := "work-item [5 0 0]"
			want := c.want
			if cpu {
				want = c.onCPU
				item = "group [1 0 0]: work-item [1 0 0]"
				if c.name == "Shared" {
					item = "group [0 0 0]: work-item [5 0 0]"
				}
			}
			if !errors.Is(err, backend.ErrLaunch) {
				t.Fatalf("%s: error is %v", c.name, err)
			}
			for _, part := range []string{c.where, want, item} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: error is %v, want %s", c.name, err, part)
				}
			}
			if !slices.Equal(beyond, guard) {
				t.Errorf("%s: memory behind a slice has changed", c.name)
			}
			if err := LaunchRight(s, grid, out); err != nil || !slices.Equal(out, []int32{0, 1, 2, 3, 4, 5, 6, 7}) {
				t.Fatalf("after %s: %v, %v", c.name, out, err)
			}
		}
	})
}

// Where several work-items make a mistake, one of them is reported, and none writes outside its
// slice. A kernel that Session.CompileSource has made checks as well.
func TestCheckedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *linalg.Session) {
		out, err := linalg.NewArray[int32](s, 1, 16)
		if err != nil {
			t.Fatal(err)
		}
		where := line(t, "kernels.go", "func Many")
		if err := LaunchMany(s, grid, out.Slice(0, 1, 0, 8)); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("error is %v, want %s", err, where)
		}
		got, err := out.Download()
		if err != nil || slices.Max(got.Data[8:]) != 0 {
			t.Errorf("memory behind the slice is %v, %v", got.Data, err)
		}
		k, err := s.CompileSource(ManyKernel)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Launch(k, grid, out, backend.Int64(0), backend.Int64(8)); err == nil ||
			!strings.Contains(err.Error(), where) {
			t.Errorf("error of Launch is %v, want %s", err, where)
		}
		if err := k.Release(); err != nil {
			t.Error(err)
		}
	})
}

// The checked mode gives the bits of the other, also where Go leaves them open. Under the race
// detector the cpu device runs the Go as it is written, in both.
func TestCheckedBits(t *testing.T) {
	var want []int64
	each(t, func(t *testing.T, s *linalg.Session) {
		if s.Info().Host && gpu.Goroutines {
			t.Skip("plain Go converts as the processor does")
		}
		x := []float64{1e20, -1e20, math.NaN(), -1, 300, math.Inf(1), math.Inf(-1), 1 << 63}
		for _, checked := range []bool{false, true} {
			s.SetChecked(checked)
			out := make([]int64, 4*len(x))
			if err := LaunchConverts(s, grid, out, x); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = out
			}
			if !slices.Equal(out, want) {
				t.Errorf("checked %t: %v, want %v", checked, out, want)
			}
		}
	})
}

// TANDEM_CHECK=1 is the same for every session, and a session without it does not check. On the cpu
// device a kernel checks under the race detector anyway.
func TestEnvironment(t *testing.T) {
	t.Setenv(linalg.EnvCheck, "1")
	for _, on := range []bool{true, false} {
		s := open(t, "cudasim")
		if !on {
			s.SetChecked(false)
		}
		m := linalg.NewMatrix[int32](2, 4, nil)
		err := LaunchColumns(s, grid, make([]int32, 8), m) // column 4 of row 0 is column 0 of row 1
		if found := err != nil; found != on {
			t.Errorf("checked %t: error is %v", on, err)
		}
	}
}

// A launch that cannot be right is refused before it runs, and says why.
func TestRefusedLaunches(t *testing.T) {
	each(t, func(t *testing.T, s *linalg.Session) {
		s.SetChecked(false)
		out := make([]int32, 8)
		fails := func(err error, want string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %q", err, want)
			}
		}
		fails(LaunchGrouped(s, backend.Grid1(1, 8), out), "the kernel is compiled for groups of 4")
		if err := LaunchGrouped(s, grid, out); err != nil || slices.Min(out) != 1 {
			t.Errorf("in groups of 4: %v, %v", out, err)
		}
		fails(LaunchPairs[float32, float32](s, grid, make([]float32, 8), make([]float32, 8)),
			"not compiled for these types")
		if err := LaunchPairs[int32, float32](s, grid, out, make([]float32, 8)); err != nil {
			t.Error(err)
		}
		if err := LaunchRoomy(s, backend.Grid1(1, 8), out); s.Info().Driver != "cpu" {
			want := map[string]string{"opencl": "bytes of local memory", "cudasim": "bytes of static"}
			fails(err, want[s.Info().Driver])
		} else if err != nil || out[0] != 1 {
			t.Errorf("with much local memory: %v, %v", out, err)
		}
		if err := LaunchRight(s, grid, out); err != nil {
			t.Error("afterwards:", err)
		}
	})
}

// An element that has another size in the host's memory than in the kernel's is refused: run this
// with GOARCH=386, too.
func TestElementSize(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := make([]int, 8)
	err = LaunchWords(s, grid, x)
	if strconv.IntSize == 64 {
		if err != nil || x[7] != 1 {
			t.Errorf("%v, %v", x, err)
		}
	} else if !errors.Is(err, backend.ErrLaunch) || !strings.Contains(err.Error(), "4 bytes on this machine and 8 in") {
		t.Errorf("error is %v", err)
	}
}

// Without NVRTC a checked launch on a GPU says what is missing.
func TestCheckedWithoutNVRTC(t *testing.T) {
	const child = "TANDEM_TEST_CHILD"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCheckedWithoutNVRTC$")
		none := filepath.Join(t.TempDir(), "none.so")
		cmd.Env = append(os.Environ(), child+"=1", "TANDEM_NVRTC="+none, "TANDEM_CACHE=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s, err := linalg.Open("cudasim")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.SetChecked(true)
	err = LaunchRight(s, grid, make([]int32, 8))
	for _, want := range []string{"the checked mode compiles kernel Right_kernel", "pip install nvidia-cuda-nvrtc"} {
		if !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// The simulated GPU names the kernel's own line of a race, in the checked mode.
func TestRaceLine(t *testing.T) {
	if os.Getenv("TANDEM_NVRTC") == "" {
		backendtest.Require(t, "nvrtc", errors.New("the checked mode needs NVRTC"))
	}
	s, err := linalg.Open("cudasim")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // an error: a race ends what the device can do
	s.SetChecked(true)
	err = LaunchRaces(s, grid, make([]int32, 8))
	where := line(t, "kernels.go", "func Races")
	if err == nil || !strings.Contains(err.Error(), "data race") || !strings.Contains(err.Error(), where) {
		t.Errorf("error is %v, want a data race at %s", err, where)
	}
}
