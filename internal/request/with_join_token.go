// SPDX-License-Identifier: Apache-2.0

package request

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// WithJoinToken returns c with the labels and taints of its join token, as a join
// uses it. It does not read the state of a recorded join.
func WithJoinToken(c config.Join, stdin io.Reader) (config.Join, error) {
	if c.JoinToken == "" {
		return c, nil
	}
	content, err := ReadFile(c.JoinToken, stdin, "--join-token")
	if err != nil {
		return c, err
	}
	t, err := parseJoinToken(content)
	if err != nil {
		return c, err
	}
	return MergeJoinToken(c, t), nil
}
