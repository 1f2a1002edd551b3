package ignition

import (
	"fmt"
	"slices"
	"strings"
)

// unmet lists what the payload wants of the operating system itself, which the
// agent does not change.
func (s *scene) unmet() {
	machine := s.payload.MachineConfig()
	if machine.OSImageURL != "" && packageMode(s, subject{}) {
		s.want("operating system image", "os-image", "the host keeps its packages; they must be of the release of "+machine.OSImageURL)
	}
	for _, argument := range s.kernelArguments() {
		if !s.booted(argument) {
			s.want("kernel argument "+argument, "kernel-argument", "grubby --update-kernel=ALL --args="+shellQuote(argument)+" and a reboot set it")
		}
	}
	for _, argument := range s.payload.Config.KernelArguments.ShouldNotExist {
		if s.booted(string(argument)) {
			s.want("no kernel argument "+string(argument), "kernel-argument", "grubby --update-kernel=ALL --remove-args="+shellQuote(string(argument))+" and a reboot remove it")
		}
	}
	for _, extension := range machine.Extensions {
		s.want("extension "+extension, "extension", "its packages are installed with dnf")
	}
	if kernel := machine.KernelType; kernel != "" && kernel != "default" {
		s.want("kernel type "+kernel, "kernel-type", "another kernel is installed with dnf, and needs a reboot")
	}
	if machine.FIPS != s.in.Facts.FIPS && machine.Name != "" {
		s.want(fmt.Sprintf("FIPS mode: %t", machine.FIPS), "fips", "the host was installed otherwise, and that cannot be changed soundly")
	}
}

func (s *scene) want(subject, rule, reason string) {
	s.plan.Notes = append(s.plan.Notes, Note{Subject: subject, Action: Unmet, Reason: reason, Rule: rule})
}

// kernelArguments are those of the MachineConfig and of the payload itself,
// each with all its words.
func (s *scene) kernelArguments() []string {
	list := slices.Clone(s.payload.MachineConfig().KernelArguments)
	for _, argument := range s.payload.Config.KernelArguments.ShouldExist {
		list = append(list, string(argument))
	}
	return list
}

// Unapplied says what the config wishes that nothing in a tree of files can be.
func (p *Payload) Unapplied() []string {
	var list []string
	for _, argument := range p.Config.KernelArguments.ShouldExist {
		list = append(list, fmt.Sprintf("the config wants the kernel argument %s, which is not a file's: set it where the image's boot loader is made", argument))
	}
	for _, argument := range p.Config.KernelArguments.ShouldNotExist {
		list = append(list, fmt.Sprintf("the config wants the kernel argument %s gone, which is not a file's: see to it where the image's boot loader is made", argument))
	}
	return list
}

// booted tells whether the kernel was given an argument. What an argument asks
// for can be so by default: RHEL 9 has cgroup v2 without being told.
func (s *scene) booted(argument string) bool {
	plain := func(text string) string { return strings.ReplaceAll(text, `"`, "") }
	for word := range strings.FieldsSeq(argument) {
		given := slices.ContainsFunc(s.in.Facts.Cmdline, func(have string) bool { return plain(have) == plain(word) })
		byDefault := s.in.Facts.CgroupV2 && asksForCgroupV2(plain(word))
		if !given && !byDefault {
			return false
		}
	}
	return true
}

func asksForCgroupV2(word string) bool {
	return word == "systemd.unified_cgroup_hierarchy=1" || word == "cgroup_no_v1=all"
}

func shellQuote(argument string) string {
	if strings.ContainsAny(argument, " \"'$`\\") {
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}
