package main

// The Mandelbrot set as a picture: every work-item does one pixel, and there is nothing to share.
// Work-items of a group leave the loop at different turns, which costs a GPU the turns of the
// slowest among neighbours: groups are small squares, as neighbours in both directions are alike.

import (
	"image"

	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// mandelbrot makes each pixel, in rows of width, the lighter the later its point leaves the circle
// of radius 2; points that have not after limit turns are black. The corner of the picture is
// x0 + y0*i, a pixel is step wide and high.
//
//tandem:kernel
//tandem:group 8 8
func mandelbrot(it gpu.Item, pixels []uint8, width int, x0, y0, step float64, limit int32) {
	col, row := it.Global(0), it.Global(1)
	if at := row*width + col; col < width && at < len(pixels) {
		turns := escape(x0+float64(col)*step, y0+float64(row)*step, limit)
		pixels[at] = 0
		if turns < limit {
			pixels[at] = uint8(255 * (turns + 1) / limit)
		}
	}
}

// escape is how often z = z*z + c stays within the circle of radius 2, at most limit times.
func escape(cx, cy float64, limit int32) int32 {
	var x, y float64
	for turns := range limit {
		x2, y2 := x*x, y*y
		if x2+y2 > 4 {
			return turns
		}
		x, y = x2-y2+cx, 2*x*y+cy
	}
	return limit
}

// picture is the whole set in an image of width by height.
func picture(s *linalg.Session, width, height int) (*image.Gray, error) {
	img := image.NewGray(image.Rect(0, 0, width, height))
	step := 3 / float64(width)
	err := launchMandelbrot(s, tiles(height, width, 8), img.Pix, width, -2.25, -step*float64(height)/2, step, 100)
	return img, err
}
