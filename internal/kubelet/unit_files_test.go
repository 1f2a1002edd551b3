// SPDX-License-Identifier: Apache-2.0

package kubelet

// withDropIn returns the launch with dropin added, or replaced if the name exists.
func (u UnitFiles) withDropIn(dropin DropIn) UnitFiles {
	before := u.sortedDropIns(func(d DropIn) bool { return d.Name < dropin.Name })
	u.DropIns = append(append(before, dropin), u.dropInsAfter(dropin.Name)...)
	return u
}
