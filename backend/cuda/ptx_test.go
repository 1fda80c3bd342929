package cuda

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
)

func TestParseEntry(t *testing.T) {
	const ptx = `
// .visible .entry comment(.param .u32 no)
.version 8.0
.target sm_75 /* .entry hidden( */
.visible .entry marked(
	.param .u64 .ptr .global .align 4 marked_param_0, // first
	.param .u32 marked_param_1,
	.param .align 16 .b8 marked_param_2[16],
	.param .f64 marked_param_3
)
.maxntid 64, 1, 1
.minnctapersm 2
{
	.reg .b32 %r<2>;
	ret;
}
.entry plain(.param .u64 a,.param .b64 b, .param .s32 n) .reqntid 16, 4
{ ret; }
.visible .entry none()
{ ret; }
.visible .entry $odd%name
.reqntid 8
{ ret; }
`
	for name, want := range map[string]ptxEntry{
		"marked": {params: []ptxParam{
			{"marked_param_0", 8, true, true},
			{"marked_param_1", 4, false, false},
			{"marked_param_2", 16, false, false},
			{"marked_param_3", 8, false, false},
		}},
		"plain": {
			params:  []ptxParam{{"a", 8, true, false}, {"b", 8, true, false}, {"n", 4, false, false}},
			reqntid: [3]int{16, 4, 1},
		},
		"none":      {params: []ptxParam{}},
		"$odd%name": {params: []ptxParam{}, reqntid: [3]int{8, 1, 1}},
	} {
		got, err := parseEntry([]byte(ptx), name)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for name, word := range map[string]string{
		"hidden": "marked, plain, none, $odd%name", "comment": "comment",
		"plai": "plai",
	} {
		if _, err := parseEntry([]byte(ptx), name); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want it to say %q", name, err, word)
		}
	}
	for _, bad := range []string{
		"", "garbage", ".entry k(", ".entry k(.param .pred p) {", ".entry k(.reg .u32 n) {",
		"\x00\xff",
	} {
		if e, err := parseEntry([]byte(bad), "k"); err == nil {
			t.Errorf("%q gives %+v", bad, e)
		}
	}
}

// The parameters come from the PTX, their names and kinds from the text where both agree.
func TestPTXParams(t *testing.T) {
	d := open(t)
	unmarked := strings.ReplaceAll(testPTX, ".ptr .global .align 4 ", "")
	stale := "__kernel void fill(__global int *a, const int n) {}"
	declared := []backend.Param{{Name: "x", Buffer: true}, {Name: "y", Size: 4}, {Name: "z", Size: 4}}
	grouped := strings.Replace(fillSource.Text, "__kernel", "__kernel WG_SIZE(8, 2, 1)", 1)
	for name, c := range map[string]struct {
		src   backend.Source
		want  []string
		group [3]int
	}{
		"marked, no text": {
			backend.Source{PTX: []byte(testPTX)},
			[]string{"buffer a", "scalar of 4 bytes n", "scalar of 4 bytes v"},
			[3]int{},
		},
		"marked and text": {
			backend.Source{PTX: []byte(testPTX), Text: fillSource.Text},
			[]string{"buffer (int*) a", "int n", "int v"},
			[3]int{},
		},
		"unmarked and text": {
			backend.Source{PTX: []byte(unmarked), Text: fillSource.Text},
			[]string{"buffer (int*) a", "int n", "int v"},
			[3]int{},
		},
		"text of another": {
			backend.Source{PTX: []byte(testPTX), Text: stale},
			[]string{"buffer a", "scalar of 4 bytes n", "scalar of 4 bytes v"},
			[3]int{},
		},
		"declared": {
			backend.Source{PTX: []byte(unmarked), Params: declared},
			[]string{"buffer x", "scalar of 4 bytes y", "scalar of 4 bytes z"},
			[3]int{},
		},
		"group of the text": {
			backend.Source{PTX: []byte(testPTX), Text: grouped},
			[]string{"buffer (int*) a", "int n", "int v"},
			[3]int{8, 2, 1},
		},
		"group of the source": {
			backend.Source{PTX: []byte(testPTX), Group: [3]int{4, 1, 1}},
			[]string{"buffer a", "scalar of 4 bytes n", "scalar of 4 bytes v"},
			[3]int{4, 1, 1},
		},
		"group of the PTX": {
			backend.Source{PTX: []byte(strings.ReplaceAll(testPTX, "v)\n{", "v)\n.reqntid 16, 1, 1\n{"))},
			[]string{"buffer a", "scalar of 4 bytes n", "scalar of 4 bytes v"},
			[3]int{16, 1, 1},
		},
	} {
		c.src.Name = "fill"
		k, err := d.Compile(&c.src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range k.Params() {
			got = append(got, p.String())
		}
		group := groupOf(t, d, &c.src)
		if !reflect.DeepEqual(got, c.want) || group != c.group {
			t.Errorf("%s: %q, groups %v, want %q, %v", name, got, group, c.want, c.group)
		}
	}
	for name, c := range map[string]struct {
		src   backend.Source
		words []string
	}{
		"unmarked, no text": {backend.Source{PTX: []byte(unmarked)}, []string{"Source.Params"}},
		"too few": {
			backend.Source{PTX: []byte(testPTX), Params: declared[:1]},
			[]string{"1 parameters", "3"},
		},
		"wrong size": {backend.Source{PTX: []byte(testPTX), Params: []backend.Param{
			{Buffer: true},
			{Size: 8},
			{Size: 4},
		}}, []string{"parameter 1", "8 bytes", "4 bytes"}},
		"number as buffer": {backend.Source{PTX: []byte(testPTX), Params: []backend.Param{
			{Buffer: true},
			{Size: 4},
			{Buffer: true},
		}}, []string{"parameter 2"}},
		"buffer as number": {backend.Source{
			PTX:    []byte(testPTX),
			Params: []backend.Param{{Size: 8}, {Size: 4}, {Size: 4}},
		}, []string{"parameter 0", "an address"}},
		"groups": {
			backend.Source{PTX: []byte(testPTX), Text: grouped, Group: [3]int{4, 4, 1}},
			[]string{"[4 4 1]", "[8 2 1]"},
		},
		"no such kernel": {
			backend.Source{PTX: []byte(strings.ReplaceAll(testPTX, "fill", "other"))},
			[]string{"no kernel fill", "other, inc, race"},
		},
		"not PTX": {backend.Source{PTX: []byte("garbage")}, []string{"no kernel fill"}},
		"broken PTX": {
			backend.Source{PTX: []byte(strings.ReplaceAll(testPTX, "mov.u32", "mov.u33"))},
			[]string{"cuModuleLoadDataEx", "fill.cl", "line"},
		},
	} {
		c.src.Name = "fill"
		_, err := d.Compile(&c.src)
		wantError(t, err, backend.ErrBuild, c.words...)
		if err == nil {
			t.Error(name)
		}
	}
}

// Kernels of equal sources share a program.
func TestPTXShared(t *testing.T) {
	d := open(t)
	src := backend.Source{Name: "fill", PTX: []byte(testPTX)}
	first := must[*backend.Kernel](t)(d.Compile(&src))
	defer first.Release()
	loads := 0
	defer dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
		if c.Name == "cuModuleLoadDataEx" {
			loads++
		}
		return c.Run()
	})()
	if err := must[*backend.Kernel](t)(d.Compile(&src)).Release(); err != nil {
		t.Error(err)
	}
	if loads != 0 {
		t.Errorf("loaded %d times more", loads)
	}
}

// The driver's log arrives where it is read, though the stack of the goroutine moves while the
// driver compiles.
func TestLogStaysInPlace(t *testing.T) {
	d := open(t)
	defer dltest.Wrap(own(d).api, func(c *dltest.Call) []reflect.Value {
		if c.Name == "cuModuleLoadDataEx" {
			growStack(1000)
		}
		return c.Run()
	})()
	result := make(chan error)
	go func() { // with a small stack
		_, err := d.Compile(&backend.Source{
			Name: "fill",
			PTX:  []byte(strings.ReplaceAll(testPTX, "mov.u32", "mov.u33")),
		})
		result <- err
	}()
	wantError(t, <-result, backend.ErrBuild, "fill.cl", "line")
}

//go:noinline
func growStack(frames int) byte {
	var frame [1 << 10]byte
	if frames > 0 {
		frame[0] = growStack(frames - 1)
	}
	return frame[0]
}

// PTX of the source is not written to, whatever lies behind it in memory.
func TestPTXIsReadOnly(t *testing.T) {
	d := open(t)
	memory := []byte(testPTX + "behind")
	src := &backend.Source{Name: "fill", PTX: memory[:len(testPTX)]}
	check(t, must[*backend.Kernel](t)(d.Compile(src)).Release())
	if string(memory) != testPTX+"behind" {
		t.Error("Compile wrote into the PTX")
	}
}
