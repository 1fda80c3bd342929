// Package clock measures short times. On Windows time.Now goes in steps of half a millisecond to
// sixteen, in which a kernel may run a thousand times.
package clock
