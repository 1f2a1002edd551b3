package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// One system call finds what pathrs finds, and nothing where that finds nothing.
func TestLookupIsThatOfPathrs(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "usr/lib/deep/file", "")
	put(t, filepath.Dir(root), "outside/file", "")
	for name, target := range map[string]string{
		"lib": "usr/lib", "abs": "/usr/lib", "up": "../../../usr", "out": "../outside", "dangling": "none", "circle": "circle",
		"usr/lib/back": "../../lib/deep", "proc": "/proc/self/root",
	} {
		symlink(t, target, root, name)
	}
	found := 0
	for _, p := range []string{
		"/", "/usr", "/usr/", "/lib", "/lib/deep/", "/abs/deep", "/up/lib", "/out", "/out/file", "/dangling", "/dangling/below", "/circle",
		"/circle/below", "/usr/lib/back/file", "/usr/lib/deep/file", "/usr/lib/deep/file/", "/usr/lib/deep/file/below", "/none", "/proc",
	} {
		for _, flags := range []int{unix.O_PATH, unix.O_PATH | unix.O_DIRECTORY, unix.O_RDONLY | unix.O_DIRECTORY} {
			fast, err := tree.lookup(p, flags)
			slow, slowErr := tree.lookupSlowly(p, flags)
			if flags == unix.O_PATH|unix.O_DIRECTORY && slowErr == nil && !isDirectory(t, slow) {
				slowErr = unix.ENOTDIR // pathrs takes no flags
			}
			switch {
			case err == nil && slowErr == nil:
				found++
				if one, other := identified(t, fast), identified(t, slow); one != other {
					t.Errorf("%s is %v, and %v to pathrs", p, one, other)
				}
			case err == nil || slowErr == nil || absent(err) != absent(slowErr) || errors.Is(err, fs.ErrNotExist) != errors.Is(slowErr, fs.ErrNotExist):
				t.Errorf("%s: %v, and %v of pathrs", p, err, slowErr)
			}
			fast.Close()
			slow.Close()
		}
	}
	if found < 20 {
		t.Errorf("only %d were found", found)
	}
}

func identified(t *testing.T, file *os.File) object {
	t.Helper()
	is, err := identity(file)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func isDirectory(t *testing.T, file *os.File) bool {
	t.Helper()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.IsDir()
}
