package cl

import (
	"image"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// ImageFormat is the format of an image's pixels.
type ImageFormat struct {
	ChannelOrder    ChannelOrder
	ChannelDataType ChannelDataType
}

// ImageDescription is the kind and the size of an image. Sizes are in pixels, pitches in bytes.
// Pitches of 0 mean that the rows and slices of the data lie without gaps. Buffer is for
// MemObjectTypeImage1DBuffer.
type ImageDescription struct {
	Type                            MemObjectType
	Width, Height, Depth            int
	ArraySize, RowPitch, SlicePitch int
	NumMipLevels, NumSamples        int
	Buffer                          *MemObject
}

// pixelSize is the size of a pixel in bytes, 0 for a format that is not known.
func (f ImageFormat) pixelSize() int {
	switch f.ChannelDataType {
	case ChannelDataTypeUNormShort565, ChannelDataTypeUNormShort555:
		return 2
	case ChannelDataTypeUNormInt101010, ChannelDataTypeUNormInt24:
		return 4
	}
	channels := map[ChannelOrder]int{
		ChannelOrderR: 1, ChannelOrderA: 1, ChannelOrderRx: 1,
		ChannelOrderIntensity: 1, ChannelOrderLuminance: 1, ChannelOrderDepth: 1,
		ChannelOrderRG: 2, ChannelOrderRA: 2, ChannelOrderRGx: 2,
		ChannelOrderRGB: 3, ChannelOrderRGBx: 3,
		ChannelOrderRGBA: 4, ChannelOrderBGRA: 4, ChannelOrderARGB: 4,
		ChannelOrder1RGBApple: 4, ChannelOrderBGR1Apple: 4,
	}[f.ChannelOrder]
	switch f.ChannelDataType {
	case ChannelDataTypeSNormInt8, ChannelDataTypeUNormInt8, ChannelDataTypeSignedInt8, ChannelDataTypeUnsignedInt8:
		return channels
	case ChannelDataTypeSNormInt16, ChannelDataTypeUNormInt16, ChannelDataTypeSignedInt16, ChannelDataTypeUnsignedInt16,
		ChannelDataTypeHalfFloat, ChannelDataTypeSFixed14Apple:
		return 2 * channels
	case ChannelDataTypeSignedInt32, ChannelDataTypeUnsignedInt32, ChannelDataTypeFloat:
		return 4 * channels
	}
	return 0
}

// region is the image's size as a region of the host's memory: the images of an array are slices.
func (d *ImageDescription) region() [3]int {
	switch d.Type {
	case MemObjectTypeImage1D, MemObjectTypeImage1DBuffer:
		return [3]int{d.Width, 1, 1}
	case MemObjectTypeImage1DArray:
		return [3]int{d.Width, 1, d.ArraySize}
	case MemObjectTypeImage2D:
		return [3]int{d.Width, d.Height, 1}
	case MemObjectTypeImage2DArray:
		return [3]int{d.Width, d.Height, d.ArraySize}
	}
	return [3]int{d.Width, d.Height, d.Depth}
}

// dataSize is how many bytes the rows and slices of a region take, with the gap after every row and
// slice, because drivers copy whole rows. ok is false for sizes that no memory can have, and for
// pitches that are less than a row or a slice.
func dataSize(region [3]int, pixel, rowPitch, slicePitch int) (n int, ok bool) {
	row, ok := product(region[0], pixel)
	if !ok || rowPitch != 0 && rowPitch < row {
		return 0, false
	}
	slice, ok := product(max(row, rowPitch), region[1])
	if !ok || slicePitch != 0 && slicePitch < slice {
		return 0, false
	}
	return product(max(slice, slicePitch), region[2])
}

// product multiplies, unless a factor is negative or the product is no int.
func product(a, b int) (int, bool) {
	if a < 0 || b < 0 {
		return 0, false
	}
	hi, lo := bits.Mul(uint(a), uint(b))
	return int(lo), hi == 0 && int(lo) >= 0
}

// GetSupportedImageFormats lists the formats that images of a kind can have in the context.
func (ctx *Context) GetSupportedImageFormats(flags MemFlag, imageType MemObjectType) ([]ImageFormat, error) {
	var formats []ImageFormat
	err := ctx.use(func(c capi.Context) error {
		list, err := listAll(func(n uint32, list *capi.ImageFormat, num *uint32) int32 {
			return api().GetSupportedImageFormats(c, uint64(flags), uint32(imageType), n, list, num)
		})
		for _, f := range list {
			formats = append(formats, ImageFormat{ChannelOrder(f.Order), ChannelDataType(f.DataType)})
		}
		return err
	})
	return formats, err
}

// CreateImage makes an image. data is nil, or its pixels for MemCopyHostPtr or MemUseHostPtr (see
// CreateBufferUnsafe). Data that is too short for the description is ErrInvalidHostPtr.
func (ctx *Context) CreateImage(
	flags MemFlag, imageFormat ImageFormat, imageDesc ImageDescription, data []byte,
) (*MemObject, error) {
	if api() != nil && api().CreateImage == nil {
		return nil, ErrUnsupported
	}
	if err := validRange(imageDesc.Width, imageDesc.Height, imageDesc.Depth, imageDesc.ArraySize, imageDesc.RowPitch,
		imageDesc.SlicePitch, imageDesc.NumMipLevels, imageDesc.NumSamples); err != nil {
		return nil, ErrInvalidImageDescriptor
	}
	if data != nil {
		n, ok := dataSize(imageDesc.region(), imageFormat.pixelSize(), imageDesc.RowPitch, imageDesc.SlicePitch)
		if !ok || n > len(data) {
			return nil, ErrInvalidHostPtr
		}
	}
	desc := capi.ImageDesc{
		Type:         uint32(imageDesc.Type),
		Width:        uintptr(imageDesc.Width),
		Height:       uintptr(imageDesc.Height),
		Depth:        uintptr(imageDesc.Depth),
		ArraySize:    uintptr(imageDesc.ArraySize),
		RowPitch:     uintptr(imageDesc.RowPitch),
		SlicePitch:   uintptr(imageDesc.SlicePitch),
		NumMipLevels: uint32(imageDesc.NumMipLevels),
		NumSamples:   uint32(imageDesc.NumSamples),
	}
	if imageDesc.Buffer != nil {
		h := imageDesc.Buffer.handle()
		if !h.acquire() {
			return nil, ErrInvalidMemObject
		}
		defer h.drop()
		desc.Buffer = imageDesc.Buffer.id()
	}
	format := capi.ImageFormat{Order: uint32(imageFormat.ChannelOrder), DataType: uint32(imageFormat.ChannelDataType)}
	host := unsafe.Pointer(unsafe.SliceData(data))
	m, err := ctx.createMem(flags, len(data), host, imageDesc.Buffer, func(c capi.Context, status *int32) capi.Mem {
		return api().CreateImage(c, uint64(flags), &format, &desc, host, status)
	})
	if err != nil {
		return nil, err
	}
	m.kind = imageDesc.Type
	return m, nil
}

// CreateImageSimple makes a 2D image whose rows lie without gaps.
func (ctx *Context) CreateImageSimple(flags MemFlag, width, height int, channelOrder ChannelOrder,
	channelDataType ChannelDataType,
	data []byte,
) (*MemObject, error) {
	format := ImageFormat{channelOrder, channelDataType}
	desc := ImageDescription{Type: MemObjectTypeImage2D, Width: width, Height: height}
	return ctx.CreateImage(flags, format, desc, data)
}

// CreateImageFromImage makes a 2D image of a Go image, with 8 bits a channel: one channel of
// intensity of an *image.Gray, red, green, blue and alpha of every other. The pixels of *image.Gray
// and *image.RGBA are used as they lie, others are converted.
func (ctx *Context) CreateImageFromImage(flags MemFlag, img image.Image) (*MemObject, error) {
	switch m := img.(type) {
	case *image.Gray:
		return ctx.createImage8(flags, ImageFormat{ChannelOrderIntensity, ChannelDataTypeUNormInt8}, m.Bounds(),
			m.Stride, m.Pix)
	case *image.RGBA:
		return ctx.createImage8(flags, ImageFormat{ChannelOrderRGBA, ChannelDataTypeUNormInt8}, m.Bounds(), m.Stride,
			m.Pix)
	}
	if img == nil {
		return nil, ErrInvalidValue
	}
	b := img.Bounds()
	n, ok := dataSize([3]int{b.Dx(), b.Dy(), 1}, 4, 0, 0)
	if !ok { // as of an image.Uniform
		return nil, ErrInvalidImageSize
	}
	data := make([]byte, 0, n)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, b, a := img.At(x, y).RGBA()
			data = append(data, uint8(r>>8), uint8(g>>8), uint8(b>>8), uint8(a>>8))
		}
	}
	return ctx.CreateImageSimple(flags, b.Dx(), b.Dy(), ChannelOrderRGBA, ChannelDataTypeUNormInt8, data)
}

// createImage8 makes a 2D image of pixels with 8 bits a channel.
func (ctx *Context) createImage8(
	flags MemFlag, format ImageFormat, b image.Rectangle, stride int, pix []byte,
) (*MemObject, error) {
	desc := ImageDescription{Type: MemObjectTypeImage2D, Width: b.Dx(), Height: b.Dy(), RowPitch: stride}
	if missing := stride*b.Dy() - len(pix); missing > 0 && b.Dy() > 0 &&
		len(pix) >= stride*(b.Dy()-1)+b.Dx()*format.pixelSize() {
		// The last row of a sub-image ends early, but OpenCL reads whole rows.
		pix = slices.Concat(pix, make([]byte, missing))
	}
	return ctx.CreateImage(flags, format, desc, pix)
}

// imageValue is a property of an image.
func (b *MemObject) imageValue(param uint32) (int, error) {
	n, err := infoValue[uintptr](func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetImageInfo(b.id(), param, size, value, sizeRet)
	})
	return int(n), err
}

// hostRegion is a region as it lies in the host's memory: OpenCL counts the images of a 1D array as
// rows, but keeps them as slices.
func (b *MemObject) hostRegion(region [3]int) [3]int {
	if b.kind == MemObjectTypeImage1DArray {
		return [3]int{region[0], 1, region[1]}
	}
	return region
}

// checkRegion is the error of a region that does not fit n bytes of host memory.
func (b *MemObject) checkRegion(origin, region [3]int, rowPitch, slicePitch, n int) error {
	if err := validRange(origin[0], origin[1], origin[2], region[0], region[1], region[2], rowPitch,
		slicePitch); err != nil {
		return err
	}
	if !b.handle().acquire() {
		return ErrInvalidMemObject
	}
	defer b.h.drop()
	pixel, err := b.imageValue(0x1111) // CL_IMAGE_ELEMENT_SIZE
	if err != nil {
		return err
	}
	if need, ok := dataSize(b.hostRegion(region), pixel, rowPitch, slicePitch); !ok || need > n {
		return ErrInvalidValue
	}
	return nil
}

// EnqueueReadImage copies a region of an image to data, whose rows and slices lie rowPitch and
// slicePitch bytes apart, or without gaps where these are 0. Data that is too short, and pitches
// that are less than a row or a slice, are ErrInvalidValue. For a call that does not block, see
// EnqueueReadBuffer.
func (q *CommandQueue) EnqueueReadImage(image *MemObject, blocking bool, origin, region [3]int, rowPitch,
	slicePitch int, data []byte,
	eventWaitList []*Event,
) (*Event, error) {
	if err := image.checkRegion(origin, region, rowPitch, slicePitch, len(data)); err != nil {
		return nil, err
	}
	host := unsafe.Pointer(unsafe.SliceData(data))
	return q.transfer(image, blocking, host, eventWaitList, func(c *command) int32 {
		return c.EnqueueReadImage(c.q, image.id(), clBool(blocking), sizes3(origin), sizes3(region),
			uintptr(rowPitch), uintptr(slicePitch), host, c.n, c.wait, c.ev)
	})
}

// EnqueueWriteImage copies data to a region of an image. The parameters are those of
// EnqueueReadImage.
func (q *CommandQueue) EnqueueWriteImage(image *MemObject, blocking bool, origin, region [3]int, rowPitch,
	slicePitch int, data []byte,
	eventWaitList []*Event,
) (*Event, error) {
	if err := image.checkRegion(origin, region, rowPitch, slicePitch, len(data)); err != nil {
		return nil, err
	}
	host := unsafe.Pointer(unsafe.SliceData(data))
	return q.transfer(image, blocking, host, eventWaitList, func(c *command) int32 {
		return c.EnqueueWriteImage(c.q, image.id(), clBool(blocking), sizes3(origin), sizes3(region),
			uintptr(rowPitch), uintptr(slicePitch), host, c.n, c.wait, c.ev)
	})
}

// EnqueueMapImage makes a region of an image reachable for the host, as EnqueueMapBuffer does.
func (q *CommandQueue) EnqueueMapImage(buffer *MemObject, blocking bool, flags MapFlag, origin, region [3]int,
	eventWaitList []*Event,
) (*MappedMemObject, *Event, error) {
	if err := validRange(slices.Concat(origin[:], region[:])...); err != nil {
		return nil, nil, err
	}
	mapped := new(MappedMemObject)
	ev, err := q.enqueue(eventWaitList, []*MemObject{buffer}, func(c *command) (status int32) {
		pixel, err := buffer.imageValue(0x1111) // CL_IMAGE_ELEMENT_SIZE
		if err != nil {
			return int32(Code(err))
		}
		var row, slice uintptr
		mapped.ptr = c.EnqueueMapImage(c.q, buffer.id(), clBool(blocking), uint64(flags), sizes3(origin),
			sizes3(region), &row, &slice,
			c.n, c.wait, c.ev, &status)
		if status == capi.Success {
			mapped.rowPitch, mapped.slicePitch = int(row), int(slice)
			r := buffer.hostRegion(region)
			mapped.size = mapped.slicePitch*(r[2]-1) + mapped.rowPitch*(r[1]-1) + pixel*r[0]
		}
		return status
	})
	return mapped.result(ev, err)
}
