// SPDX-License-Identifier: Apache-2.0

package report

// DescribedError is an error with a replaced message.
type DescribedError struct {
	Text string
	Err  error
}

// Error returns the replaced message.
func (d DescribedError) Error() string { return d.Text }

// Unwrap returns the original error.
func (d DescribedError) Unwrap() error { return d.Err }
