// Package brokenmap has a map that does not compile.
package brokenmap

//tandem:map
func twice(x float32) float32 {
	return undefined * x
}
