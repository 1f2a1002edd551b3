package kubelet

// with is the launch with a drop-in more, or another one of that name.
func (l Launch) with(dropin DropIn) Launch {
	before := l.sorted(func(d DropIn) bool { return d.Name < dropin.Name })
	l.DropIns = append(append(before, dropin), l.after(dropin.Name)...)
	return l
}
