//go:build !purego && !scalarfma

package host

// vectors tells whether to use vector instructions where the processor has them.
const vectors = true
