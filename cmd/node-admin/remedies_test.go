// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestRemediesAreValidCommandLines(t *testing.T) { admin().CheckRemedies(t, 6, nil) }
