// SPDX-License-Identifier: Apache-2.0

package kubelet

import "maps"

// withDropIn returns the launch with a drop-in added or replaced.
func (u UnitFiles) withDropIn(name, content string) UnitFiles {
	all := map[string]string{name: content}
	for other, unchanged := range maps.All(u.DropIns) {
		if other != name {
			all[other] = unchanged
		}
	}
	u.DropIns = all
	return u
}
