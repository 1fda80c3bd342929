package cl_test

import (
	"image"
	"image/color"
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
)

func setUpImages(t *testing.T) *fixture {
	t.Helper()
	f := setUp(t)
	if !f.device.ImageSupport() {
		t.Skip("the device says that it has no images")
	}
	return f
}

// supports skips the test where the device lacks the format.
func (f *fixture) supports(kind cl.MemObjectType, format cl.ImageFormat) {
	f.Helper()
	formats, err := f.GetSupportedImageFormats(cl.MemReadWrite, kind)
	f.ok(err)
	if !slices.Contains(formats, format) {
		f.Skipf("the device does not list %v of %v %v", kind, format.ChannelOrder, format.ChannelDataType)
	}
}

var rgba8 = cl.ImageFormat{ChannelOrder: cl.ChannelOrderRGBA, ChannelDataType: cl.ChannelDataTypeUNormInt8}

// readImage reads a whole image of 4 bytes a pixel.
func (f *fixture) readImage(m *cl.MemObject, w, h, d int) []byte {
	f.Helper()
	data := make([]byte, 4*w*h*d)
	f.done(f.queue.EnqueueReadImage(m, true, [3]int{}, [3]int{w, h, d}, 0, 0, data, nil))
	return data
}

func TestImage2D(t *testing.T) {
	f := setUpImages(t)
	f.supports(cl.MemObjectTypeImage2D, rgba8)
	const w, h = 7, 5
	data := numbers(4 * w * h)
	m, err := f.CreateImageSimple(cl.MemReadWrite|cl.MemCopyHostPtr, w, h, cl.ChannelOrderRGBA,
		cl.ChannelDataTypeUNormInt8, data)
	f.ok(err)
	defer m.Release()
	if !slices.Equal(f.readImage(m, w, h, 1), data) {
		t.Fatal("CreateImageSimple made another image")
	}

	// a region, with rows 20 bytes apart in the host's memory
	part := numbers(60)
	f.done(f.queue.EnqueueWriteImage(m, false, [3]int{2, 1, 0}, [3]int{4, 3, 1}, 20, 0, part, nil))
	f.ok(f.queue.Finish())
	for y := range 3 {
		copy(data[4*(w*(1+y)+2):][:16], part[20*y:])
	}
	if !slices.Equal(f.readImage(m, w, h, 1), data) {
		t.Fatal("EnqueueWriteImage wrote something else")
	}
	got := slices.Repeat([]byte{0xEE}, 60)
	ev, err := f.queue.EnqueueReadImage(m, false, [3]int{2, 1, 0}, [3]int{4, 3, 1}, 20, 0, got, nil)
	f.ok(err)
	f.ok(cl.WaitForEvents([]*cl.Event{ev}))
	ev.Release()
	for i, b := range got {
		if want := part[i]; i%20 < 16 && b != want || i%20 >= 16 && b != 0xEE {
			t.Fatalf("EnqueueReadImage: byte %d is %#x", i, b)
		}
	}
}

func TestMapImage(t *testing.T) {
	f := setUpImages(t)
	f.supports(cl.MemObjectTypeImage2D, rgba8)
	const w, h = 8, 6
	data := numbers(4 * w * h)
	m, err := f.CreateImageSimple(cl.MemReadWrite|cl.MemCopyHostPtr, w, h, cl.ChannelOrderRGBA,
		cl.ChannelDataTypeUNormInt8, data)
	f.ok(err)
	defer m.Release()
	mapped, ev, err := f.queue.EnqueueMapImage(m, true, cl.MapFlagRead|cl.MapFlagWrite, [3]int{1, 2, 0},
		[3]int{3, 2, 1}, nil)
	f.done(ev, err)
	if mapped.RowPitch() < 12 || mapped.Size() != mapped.RowPitch()+12 || len(mapped.ByteSlice()) != mapped.Size() {
		t.Fatalf("pitch %d, size %d", mapped.RowPitch(), mapped.Size())
	}
	for y := range 2 {
		row := mapped.ByteSlice()[y*mapped.RowPitch():][:12]
		if !slices.Equal(row, data[4*(w*(2+y)+1):][:12]) {
			t.Errorf("mapped row %d is %v", y, row)
		}
		row[4] ^= 0xFF
		data[4*(w*(2+y)+2)] ^= 0xFF
	}
	f.done(f.queue.EnqueueUnmapMemObject(m, mapped, nil))
	if !slices.Equal(f.readImage(m, w, h, 1), data) {
		t.Error("what was written while mapped is not in the image")
	}
}

func TestOtherImages(t *testing.T) {
	f := setUpImages(t)
	buf := f.buffer(numbers(64))
	for _, c := range []struct {
		desc    cl.ImageDescription
		w, h, d int // as a region of OpenCL
	}{
		{cl.ImageDescription{Type: cl.MemObjectTypeImage3D, Width: 3, Height: 4, Depth: 5}, 3, 4, 5},
		{cl.ImageDescription{Type: cl.MemObjectTypeImage1D, Width: 9}, 9, 1, 1},
		{cl.ImageDescription{Type: cl.MemObjectTypeImage2DArray, Width: 3, Height: 4, ArraySize: 2}, 3, 4, 2},
		{cl.ImageDescription{Type: cl.MemObjectTypeImage1DArray, Width: 3, Height: 1, ArraySize: 4}, 3, 4, 1},
	} {
		t.Run(c.desc.Type.String(), func(t *testing.T) {
			g := &fixture{TB: t, Context: f.Context, device: f.device, queue: f.queue}
			g.supports(c.desc.Type, rgba8)
			data := numbers(4 * c.w * c.h * c.d)
			m, err := g.CreateImage(cl.MemReadWrite|cl.MemCopyHostPtr, rgba8, c.desc, data)
			g.ok(err)
			defer m.Release()
			if !slices.Equal(g.readImage(m, c.w, c.h, c.d), data) {
				t.Error("the image is another")
			}
			region := [3]int{c.w, c.h, c.d}
			g.refuse(cl.ErrInvalidValue)(g.queue.EnqueueReadImage(m, true, [3]int{}, region, 0, 0, data[:len(data)-1],
				nil))
			g.refuse(cl.ErrInvalidValue)(g.queue.EnqueueWriteImage(m, true, [3]int{}, region, 4*c.w-1, 0, data, nil))
			g.refuse(cl.ErrInvalidValue)(g.queue.EnqueueReadImage(m, true, [3]int{}, region, 0, 4*c.w-1, data, nil))
			if _, err := g.CreateImage(cl.MemCopyHostPtr, rgba8, c.desc,
				data[:len(data)-1]); err != cl.ErrInvalidHostPtr {
				t.Errorf("image of too little data: %v", err)
			}
			mapped, ev, err := g.queue.EnqueueMapImage(m, true, cl.MapFlagRead, [3]int{}, region, nil)
			g.done(ev, err)
			if mapped.Size() < len(data) || !slices.Equal(mapped.ByteSlice()[:4*c.w], data[:4*c.w]) {
				t.Errorf("%d bytes mapped of %d", mapped.Size(), len(data))
			}
			g.done(g.queue.EnqueueUnmapMemObject(m, mapped, nil))
		})
	}
	t.Run("Image1DBuffer", func(t *testing.T) {
		g := &fixture{TB: t, Context: f.Context, device: f.device, queue: f.queue}
		g.supports(cl.MemObjectTypeImage1DBuffer, rgba8)
		desc := cl.ImageDescription{Type: cl.MemObjectTypeImage1DBuffer, Width: 16, Buffer: buf}
		m, err := g.CreateImage(cl.MemReadWrite, rgba8, desc, nil)
		g.ok(err)
		defer m.Release()
		if !slices.Equal(g.readImage(m, 16, 1, 1), numbers(64)) {
			t.Error("the image is another")
		}
		desc.Buffer = &cl.MemObject{}
		if _, err := g.CreateImage(cl.MemReadWrite, rgba8, desc, nil); err != cl.ErrInvalidMemObject {
			t.Errorf("image of no buffer: %v", err)
		}
	})
}

func TestImageFromImage(t *testing.T) {
	f := setUpImages(t)
	f.supports(cl.MemObjectTypeImage2D, rgba8)
	const w, h = 6, 5
	full := image.NewRGBA(image.Rect(-1, -2, w-1, h-2))
	copy(full.Pix, numbers(len(full.Pix)))
	part := full.SubImage(image.Rect(1, 0, 4, 3)).(*image.RGBA) // its last row ends before the stride
	converted := image.NewNRGBA(image.Rect(3, 3, 3+w, 3+h))
	for i := range converted.Pix {
		converted.Pix[i] = byte(255 - i)
	}
	for _, img := range []image.Image{full, part, converted} {
		m, err := f.CreateImageFromImage(cl.MemReadOnly|cl.MemCopyHostPtr, img)
		f.ok(err)
		b := img.Bounds()
		got := f.readImage(m, b.Dx(), b.Dy(), 1)
		m.Release()
		for y := range b.Dy() {
			for x := range b.Dx() {
				want := color.RGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.RGBA)
				if p := got[4*(y*b.Dx()+x):]; p[0] != want.R || p[1] != want.G || p[2] != want.B || p[3] != want.A {
					t.Fatalf("%T: pixel %d,%d is %v, want %v", img, x, y, p[:4], want)
				}
			}
		}
	}
}

// What is no image, or has no end, is an error.
func TestImageFromNone(t *testing.T) {
	f := setUp(t)
	for img, want := range map[image.Image]error{nil: cl.ErrInvalidValue, image.White: cl.ErrInvalidImageSize} {
		if _, err := f.CreateImageFromImage(cl.MemReadOnly|cl.MemCopyHostPtr, img); err != want {
			t.Errorf("%T: %v, want %v", img, err, want)
		}
	}
}

// Few devices have images of intensity, so that this looks at what OpenCL is asked for.
func TestImageFromGray(t *testing.T) {
	f := setUp(t)
	gray := image.NewGray(image.Rect(0, 0, 4, 3))
	copy(gray.Pix, numbers(12))
	part := gray.SubImage(image.Rect(1, 1, 3, 3)).(*image.Gray)
	var format capi.ImageFormat
	var desc capi.ImageDesc
	var pixels []byte
	defer capitest.Wrap(func(c *capitest.Call) []reflect.Value {
		if c.Name != "clCreateImage" {
			return c.Run()
		}
		format, desc = *c.Args[2].Interface().(*capi.ImageFormat), *c.Args[3].Interface().(*capi.ImageDesc)
		pixels = slices.Clone(unsafe.Slice((*byte)(c.Args[4].UnsafePointer()), desc.RowPitch*desc.Height))
		return c.Fail(-10)
	})()
	for _, img := range []*image.Gray{gray, part} {
		if _, err := f.CreateImageFromImage(cl.MemReadOnly|cl.MemCopyHostPtr,
			img); err != cl.ErrImageFormatNotSupported {
			t.Fatal(err)
		}
		b := img.Bounds()
		want := capi.ImageDesc{
			Type: uint32(cl.MemObjectTypeImage2D), Width: uintptr(b.Dx()), Height: uintptr(b.Dy()), RowPitch: 4,
		}
		if desc != want ||
			format != (capi.ImageFormat{
				Order: uint32(cl.ChannelOrderIntensity), DataType: uint32(cl.ChannelDataTypeUNormInt8),
			}) {
			t.Errorf("%+v of %+v", desc, format)
		}
		for y := range b.Dy() {
			for x := range b.Dx() {
				if pixels[4*y+x] != img.GrayAt(b.Min.X+x, b.Min.Y+y).Y {
					t.Errorf("pixel %d,%d is %d", x, y, pixels[4*y+x])
				}
			}
		}
	}
}

func TestKernelReadsImage(t *testing.T) {
	f := setUpImages(t)
	f.supports(cl.MemObjectTypeImage2D, rgba8)
	k := f.kernel(`__kernel void sum(__read_only image2d_t img, __global uint *out) {
		const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
		float4 p = read_imagef(img, s, (int2)(get_global_id(0), get_global_id(1)));
		out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = (uint)(255.0f * (p.x + p.y + p.z + p.w) + 0.5f);
	}`, "sum")
	const w, h = 4, 3
	data := numbers(4 * w * h)
	m, err := f.CreateImageSimple(cl.MemReadOnly|cl.MemCopyHostPtr, w, h, cl.ChannelOrderRGBA,
		cl.ChannelDataTypeUNormInt8, data)
	f.ok(err)
	defer m.Release()
	out := f.buffer(make([]byte, 4*w*h))
	f.ok(k.SetArgs(m, out))
	f.done(f.queue.EnqueueNDRangeKernel(k, nil, []int{w, h}, []int{1, 1}, nil))
	got := f.read(out)
	for i := range w * h {
		want := 0
		for _, b := range data[4*i:][:4] {
			want += int(b)
		}
		if sum := int(got[4*i]) | int(got[4*i+1])<<8; sum != want {
			t.Errorf("pixel %d: %d, want %d", i, sum, want)
		}
	}
}

// The size of a pixel that guards CreateImage is the one that the driver tells of the image, for
// every format that it lists.
func TestPixelSizes(t *testing.T) {
	f := setUpImages(t)
	formats, err := f.GetSupportedImageFormats(cl.MemReadWrite, cl.MemObjectTypeImage2D)
	f.ok(err)
	data := make([]byte, 32)
	checked := 0
	for _, format := range formats {
		desc := cl.ImageDescription{Type: cl.MemObjectTypeImage2D, Width: 1, Height: 1}
		create, read := 1, 1
		var m *cl.MemObject
		for ; create < len(data); create++ {
			if m, err = f.CreateImage(cl.MemReadWrite|cl.MemCopyHostPtr, format, desc,
				data[:create]); err != cl.ErrInvalidHostPtr {
				break
			}
		}
		if err != nil {
			continue // listed, but not for this
		}
		for ; read < len(data); read++ {
			ev, err := f.queue.EnqueueReadImage(m, true, [3]int{}, [3]int{1, 1, 1}, 0, 0, data[:read], nil)
			if err == nil {
				ev.Release()
			}
			if err != cl.ErrInvalidValue {
				break
			}
		}
		m.Release()
		if create != read {
			t.Errorf("%v of %v: %d bytes to create, %d to read",
				format.ChannelOrder, format.ChannelDataType, create, read)
		}
		checked++
	}
	if checked == 0 && len(formats) > 0 {
		t.Error("no image could be made of any format")
	}
}

func TestWrongImages(t *testing.T) {
	f := setUpImages(t)
	f.supports(cl.MemObjectTypeImage2D, rgba8)
	m, err := f.CreateImageSimple(cl.MemReadWrite, 4, 4, cl.ChannelOrderRGBA, cl.ChannelDataTypeUNormInt8, nil)
	f.ok(err)
	defer m.Release()
	data := make([]byte, 64)
	invalid := f.refuse(cl.ErrInvalidValue)
	all := [3]int{4, 4, 1}
	invalid(f.queue.EnqueueReadImage(m, true, [3]int{}, all, 0, 0, nil, nil))
	invalid(f.queue.EnqueueReadImage(m, true, [3]int{}, all, 20, 0, data, nil))
	invalid(f.queue.EnqueueWriteImage(m, true, [3]int{}, all, 0, 0, data[:63], nil))
	invalid(f.queue.EnqueueWriteImage(m, true, [3]int{-1}, all, 0, 0, data, nil))
	invalid(f.queue.EnqueueReadImage(m, true, [3]int{}, [3]int{math.MaxInt, math.MaxInt, 1}, 0, 0, data, nil))
	invalid(f.queue.EnqueueReadImage(m, true, [3]int{1}, all, 0, 0, data, nil)) // beyond the image
	f.refuse(cl.ErrInvalidMemObject)(f.queue.EnqueueReadImage(nil, true, [3]int{}, all, 0, 0, data, nil))
	if _, _, err := f.queue.EnqueueMapImage(m, true, cl.MapFlagRead, [3]int{}, [3]int{5, 1, 1},
		nil); err != cl.ErrInvalidValue {
		t.Errorf("map beyond the image: %v", err)
	}
	for _, desc := range []cl.ImageDescription{
		{Type: cl.MemObjectTypeImage2D, Width: -1, Height: 4},
		{Type: cl.MemObjectTypeBuffer, Width: 4, Height: 4},
	} {
		if m, err := f.CreateImage(cl.MemReadWrite, rgba8, desc, nil); err == nil || m != nil {
			t.Errorf("%+v: an image", desc)
		}
	}
	huge := cl.ImageDescription{Type: cl.MemObjectTypeImage2D, Width: math.MaxInt / 2, Height: math.MaxInt / 2}
	if _, err := f.CreateImage(cl.MemCopyHostPtr, rgba8, huge, data); err != cl.ErrInvalidHostPtr {
		t.Errorf("image larger than any memory: %v", err)
	}
}
