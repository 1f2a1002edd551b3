package kubelet

// withDropIn returns the launch with dropin added, or replaced if the name exists.
func (l UnitFiles) withDropIn(dropin DropIn) UnitFiles {
	before := l.sortedDropIns(func(d DropIn) bool { return d.Name < dropin.Name })
	l.DropIns = append(append(before, dropin), l.dropInsAfter(dropin.Name)...)
	return l
}
