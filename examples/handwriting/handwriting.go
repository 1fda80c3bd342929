// Package handwriting holds images of handwritten digits, for the examples.
//
// The 1,797 images of 8 by 8 pixels are the test part of "Optical Recognition of Handwritten
// Digits" by E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository, licence CC BY 4.0
// (https://creativecommons.org/licenses/by/4.0/). digits.csv.gz has one a line: 64 values from 0 to
// 16, row by row, then the digit. It is the copy that Debian's package python3-sklearn carries.
package handwriting

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/tandem-gpu/tandem/linalg"
)

//go:embed digits.csv.gz
var data []byte

// Side is the height and the width of an image in pixels.
const Side = 8

const pixels = Side * Side

// Load gives the images, one a row, and the digits that they show.
func Load() (images linalg.Matrix[float32], digits []int32, err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return images, nil, fmt.Errorf("digits.csv.gz: %w", err)
	}
	r := csv.NewReader(unpacked)
	r.FieldsPerRecord = pixels + 1
	records, err := r.ReadAll()
	if err != nil {
		return images, nil, fmt.Errorf("digits.csv.gz: %w", err)
	}
	images = linalg.NewMatrix[float32](len(records), pixels, nil)
	digits = make([]int32, len(records))
	for i, record := range records {
		for j, field := range record {
			v, err := strconv.Atoi(field)
			if err != nil {
				return images, nil, fmt.Errorf("digits.csv.gz: line %d: %w", i+1, err)
			}
			if j == pixels {
				digits[i] = int32(v)
			} else {
				images.Set(i, j, float32(v))
			}
		}
	}
	return images, digits, nil
}
