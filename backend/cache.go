package backend

import (
	"os"
	"path/filepath"
)

// EnvCache is the environment variable that names the folder of all that is kept between the runs
// of a program, such as compiled kernels, or is "off".
const EnvCache = "TANDEM_CACHE"

// EnvMatrix is the environment variable that, set to "off", leaves matrix instructions unused. It
// changes the speed of products, never a bit of a result.
const EnvMatrix = "TANDEM_MATRIX"

// CacheDir is the folder that TANDEM_CACHE names at this moment, and without it "tandem" in
// os.UserCacheDir(). It is "" where nothing is kept: the variable is "off", or the user has no
// cache.
func CacheDir() string {
	switch dir := os.Getenv(EnvCache); dir {
	case "off":
		return ""
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(user, "tandem")
	default:
		return dir
	}
}
