package kubelet

// with returns the launch with dropin added, or replaced if the name exists.
func (l Launch) with(dropin DropIn) Launch {
	before := l.sorted(func(d DropIn) bool { return d.Name < dropin.Name })
	l.DropIns = append(append(before, dropin), l.after(dropin.Name)...)
	return l
}
