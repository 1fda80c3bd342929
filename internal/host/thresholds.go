package host

// Sizes at which one way to compute becomes faster than another. All ways have the same bits.
//
//	go test ./internal/host -run Calibrate -calibrate -v
//
// prints where they cross on a machine. The sizes of blocks, and what functions in assembly take,
// are beside the code that needs them.
const (
	// FewTiles is the rows, columns and steps up to which the operands of a product stay in the
	// first-level caches, so that nothing is packed.
	FewTiles = 48

	// SerialWork is the multiplications up to which a product, or a solution, stays in one
	// goroutine: to wake up others takes microseconds.
	SerialWork = 112 * 112 * 112

	// SerialBytes is the bytes up to which one goroutine moves a matrix, or computes a vector.
	SerialBytes = 256 << 10

	// fetchElements is the elements of a symmetric matrix beyond which no core's cache keeps it.
	fetchElements = 1 << 20

	// narrowSteps is the steps from which on a product of few columns is computed transposed: with
	// fewer, transposing takes longer than it saves.
	narrowSteps = 32

	// slimSteps is the steps from which on each core computes a part of C from operands that are
	// not packed, and slimPart the elements of C for each core up to which it does: larger parts go
	// through the caches too often.
	slimSteps = 256
	slimPart  = 1 << 14

	// stripElements is the elements of Y up to which a triangle of a product is computed in strips:
	// each strip reads Y from the near caches. Beyond, the whole product takes less time.
	stripElements = 1 << 16

	// smallComplex is the multiplications of complex numbers up to which a product goes row by row:
	// more are worth making real factors.
	smallComplex = 1 << 12

	// complexFew is the columns up to which a triangle of complex numbers of any size is applied to
	// them in place: for more it is packed for real products.
	complexFew = 16
)

// FewRows is the most elements that are kept on the stack.
const FewRows = 16
