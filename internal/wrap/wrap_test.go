// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"io/fs"
	"testing"
)

func TestErrorf(t *testing.T) {
	if err := Errorf(nil, "reading %s", "a"); err != nil {
		t.Errorf("Errorf() = %v for no error", err)
	}
	err := Errorf(fs.ErrNotExist, "reading %s", "a")
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "reading a: file does not exist" {
		t.Errorf("Errorf() = %v", err)
	}
}
