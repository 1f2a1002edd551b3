// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// startTimeout is the timeout for the start of a control plane, including the build of missing
// binaries.
const startTimeout = 10 * time.Minute

// RunTests starts a control plane for the tests of a package, passes it to give, runs the tests and
// stops the control plane. It is for TestMain and returns the exit code.
func RunTests(give func(*ControlPlane), run func() int) int {
	code, err := runTests(give, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runTests(give func(*ControlPlane), run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "control-plane-test-")
	if err != nil {
		return 0, fmt.Errorf("creating a directory for the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := Start(ctx, Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	give(c)
	return run(), c.Close()
}
