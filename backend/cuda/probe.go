package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
)

// probe is what the probe finds on d, which stands above own.
func (own *device) probe(d *backend.Device) (*driverkit.Arithmetic, error) {
	return own.probed.Find(own.disk, own.probeKey(), func() (*driverkit.Arithmetic, error) { return examine(d) })
}

func (e *entry) probeKey() diskcache.Key {
	parts := []string{"probe 3", e.id, string(probePTX("f32")), string(probePTX("f64")), driverkit.ProbeID()}
	for i := range matrixUnits {
		parts = append(parts, string(matrixUnits[i].ptx()))
	}
	for i := range byteUnits {
		parts = append(parts, string(byteUnits[i].ptx()))
	}
	return diskcache.KeyOf(parts...)
}

// probeText computes what driverkit.Examine32 asks for, as PTX, so that it needs no compiler. FT is
// a float type, BT and ST integers of its size.
const probeText = `.version 6.4
.target sm_50
.address_size 64

.visible .entry probe(.param .u64 .ptr .global .align 8 in, .param .u64 .ptr .global .align 8 out, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %i, %n, %size, %item;
	.reg .b64 %in, %out, %off;
	.reg .FT %a, %b, %c, %r;
	.reg .BT %x, %y, %z;
	ld.param.u64 %in, [in];
	ld.param.u64 %out, [out];
	ld.param.u32 %n, [n];
	cvta.to.global.u64 %in, %in;
	cvta.to.global.u64 %out, %out;
	mov.u32 %i, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %item, %tid.x;
	mad.lo.u32 %i, %i, %size, %item;
	setp.ge.u32 %p, %i, %n;
	@%p bra DONE;
	mul.wide.u32 %off, %i, 3*SIZE;
	add.u64 %in, %in, %off;
	mul.wide.u32 %off, %i, 5*SIZE;
	add.u64 %out, %out, %off;
	ld.global.BT %x, [%in];
	ld.global.BT %y, [%in+SIZE];
	ld.global.BT %z, [%in+2*SIZE];
	mov.BT %a, %x;
	mov.BT %b, %y;
	mov.BT %c, %z;
	fma.rn.FT %r, %a, %b, %c;
	st.global.FT [%out], %r;
	mul.rn.FT %r, %a, %b;
	st.global.FT [%out+2*SIZE], %r;
	add.rn.FT %r, %r, %c;
	st.global.FT [%out+SIZE], %r;
	add.rn.FT %r, %a, %c;
	st.global.FT [%out+3*SIZE], %r;
	mad.lo.ST %x, %x, %y, %z;
	st.global.BT [%out+4*SIZE], %x;
DONE:
	ret;
}
`

// probePTX is the probe for "f32" or "f64".
func probePTX(float string) []byte {
	bits, size := float[1:], map[string]int{"f32": 4, "f64": 8}[float]
	var pairs []string
	for n := 5; n > 1; n-- {
		pairs = append(pairs, fmt.Sprintf("%d*SIZE", n), strconv.Itoa(n*size))
	}
	pairs = append(pairs, "SIZE", strconv.Itoa(size), "FT", float, "BT", "b"+bits, "ST", "s"+bits)
	return []byte(strings.NewReplacer(pairs...).Replace(probeText))
}

func probeSource(float string) *backend.Source {
	return &backend.Source{
		Name: "probe", File: "probe_" + float + ".ptx", PTX: probePTX(float),
		Params: []backend.Param{{Name: "in", Buffer: true}, {Name: "out", Buffer: true}, {Name: "n", Size: 4}},
	}
}

// examine runs the probe on d, whose info is still what the driver claims.
func examine(d *backend.Device) (*driverkit.Arithmetic, error) {
	q, err := d.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	k32, err := d.Compile(probeSource("f32"))
	if err != nil {
		return nil, err
	}
	defer k32.Release()
	k64, err := d.Compile(probeSource("f64"))
	if err != nil {
		return nil, err
	}
	defer k64.Release()
	_, _, note32, err := driverkit.Examine32(d, q, k32, 5)
	if err != nil {
		return nil, err
	}
	_, _, note64, err := driverkit.Examine64(d, q, k64, 5)
	if err != nil {
		return nil, err
	}
	f := new(driverkit.Arithmetic)
	if f.Float64Unit, err = findUnit(f, d, q); err != nil {
		return nil, err
	}
	if f.Int8Unit, err = findByteUnit(f, d, q); err != nil {
		return nil, err
	}
	f.Float32 = f.Note(note32)
	f.Float64 = f.Note(note64)
	return f, nil
}
