package f32

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

var fused = regexp.MustCompile(`.*\tV?FN?M(ADD|SUB).*`)

// No sum is fused with a product where Go may do so: it would round once, and give other bits.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for other processors")
	}
	for _, target := range [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}} {
		cmd := exec.Command("go", "build", "-gcflags=-S", ".")
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), target...)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) < 10000 {
			t.Fatalf("%s: %v\n%.1000s", target, err, out)
		}
		for _, line := range fused.FindAll(out, 5) {
			t.Errorf("%s: %s", target, line)
		}
	}
}
