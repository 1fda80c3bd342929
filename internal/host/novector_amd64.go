//go:build !purego && scalarfma

package host

// vectors tells whether to use vector instructions where the processor has them. The tag scalarfma
// leaves them out, so that any processor can test what older ones run.
const vectors = false
