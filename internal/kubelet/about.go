package kubelet

// About tells in two or three words what a finding is about; they stay the same
// while its text goes on changing.
func (f Finding) About() string {
	if f.about == "" {
		return "the node"
	}
	return f.about
}
