// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// AbbreviateList joins the first elements of a list and the number of the others.
func AbbreviateList(all []string) string {
	const maxShown = 5
	if len(all) <= maxShown {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:maxShown], "; "), len(all)-maxShown)
}
