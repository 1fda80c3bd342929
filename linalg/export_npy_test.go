package linalg

// SmallStream lets so few bytes of a stream be in host memory at a time.
func SmallStream(n int64) (restore func()) {
	old := streamBytes
	streamBytes = n
	return func() { streamBytes = old }
}
