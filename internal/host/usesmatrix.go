package host

import (
	"fmt"
	"os"
)

// UsesMatrix tells whether TANDEM_MATRIX allows matrix instructions. A value that means nothing is
// an error, and does not allow them.
func UsesMatrix() (bool, error) {
	const variable = "TANDEM_MATRIX"
	switch value := os.Getenv(variable); value {
	case "":
		return true, nil
	case "off":
		return false, nil
	default:
		return false, fmt.Errorf("%s is %q, and must be off or nothing", variable, value)
	}
}
