package main

import (
	"testing"

	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

func TestGenerated(t *testing.T) { ptxtest.Generated(t, "../../ptx", compile) }
