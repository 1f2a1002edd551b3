// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"context"
	"errors"
	"testing"
)

func TestLockExcludes(t *testing.T) {
	tree, _ := openTest(t)
	lock, err := tree.Lock(t.Context(), "/.pwd.lock")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if second, err := tree.Lock(ended, "/.pwd.lock"); !errors.Is(err, context.Canceled) {
		t.Errorf("locked twice: %v, %v", second, err)
	}
	lock.Close()
	again, err := tree.Lock(t.Context(), "/.pwd.lock")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
