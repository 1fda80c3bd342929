package main

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

const pixels = 8 * 8

// load reads the images, one a row, and the digits that they show.
func load() (images linalg.Matrix[float32], digits []int, err error) {
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
	digits = make([]int, len(records))
	for i, record := range records {
		for j, field := range record {
			v, err := strconv.Atoi(field)
			if err != nil {
				return images, nil, fmt.Errorf("digits.csv.gz: line %d: %w", i+1, err)
			}
			if j == pixels {
				digits[i] = v
			} else {
				images.Set(i, j, float32(v))
			}
		}
	}
	return images, digits, nil
}
