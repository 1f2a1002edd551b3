// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// noteUnsupported adds notes for operating system settings of the payload that the agent does not apply.
func (p *planner) noteUnsupported() {
	machine := p.payload.MachineConfig()
	if machine.OSImageURL != "" && p.isAdapted() {
		keeps := "packages, which"
		if p.in.Facts.Capabilities().HasImage {
			keeps = "own image, whose packages"
		}
		p.addUnsupported("operating system image", "os-image",
			"the host keeps its "+keeps+" must be of the same release as "+machine.OSImageURL, "")
	}
	p.noteKernelArguments()
	for _, extension := range machine.Extensions {
		packages := p.extensionPackages(extension)
		p.plan.Extensions = append(p.plan.Extensions, Extension{Name: extension, Packages: strings.Fields(packages)})
		p.addUninstalled("extension "+extension, "extension", "the agent does not install it", packages, "")
	}
	if kernel := machine.KernelType; kernel != "" && kernel != "default" {
		p.plan.KernelPackages = p.table.KernelTypes[kernel]
		p.addUninstalled("kernel type "+kernel, "kernel-type", "the agent does not install kernels",
			p.plan.KernelPackages, " # takes effect at the next boot")
	}
	if machine.FIPS != p.in.Facts.FIPS && machine.Name != "" {
		p.addUnsupported(fmt.Sprintf("FIPS mode: %t", machine.FIPS), "fips",
			"the host was installed in another mode; FIPS mode must be enabled at installation time", "")
	}
}

// addUninstalled adds a note for packages that the agent does not install.
func (p *planner) addUninstalled(subject, rule, reason, packages, comment string) {
	if !p.isAdapted() {
		p.addUnsupported(subject, rule, reason+"; machine-config-daemon-firstboot.service does, at the first boot only", "")
		return
	}
	if packages == "" {
		p.addUnsupported(subject, rule, reason+", and its packages are unknown", "")
		return
	}
	p.addUnsupported(subject, rule, reason, report.Remedy("dnf install "+packages+comment))
}

// Extension is an extension of the operating system that the payload requires.
type Extension struct {
	Name     string
	Packages []string // nil if they are unknown
}

// extensionPackages returns the packages of an extension, "" for an unknown one.
func (p *planner) extensionPackages(extension string) string {
	packages := p.table.Extensions[extension]
	if _, found := p.units.find("openvswitch-ipsec.service"); found && extension == "ipsec" && p.isAdapted() {
		packages += " openvswitch3.5-ipsec"
	}
	return packages
}

func (p *planner) addUnsupported(subject, rule, reason string, remedy report.Remedy) {
	if p.in.Facts.Capabilities().HasImage {
		remedy = remedy.ForImageMode()
	}
	note := Note{Subject: subject, Action: Unsupported, Reason: reason, Rule: rule, Remedy: remedy}
	p.plan.Notes = append(p.plan.Notes, note)
}

// UnappliedKernelArguments returns one message for each kernel argument, which no change of a file tree can
// apply.
func UnappliedKernelArguments(payload *ignition.Payload) []string {
	var list []string
	add := func(verb, argument, imperative string) {
		list = append(list, fmt.Sprintf("the config %s the kernel argument %s, which is not stored in a file: "+
			"%s it where the boot loader of the image is configured", verb, argument, imperative))
	}
	for _, argument := range payload.Config.KernelArguments.ShouldExist {
		add("requires", string(argument), "set")
	}
	for _, argument := range payload.Config.KernelArguments.ShouldNotExist {
		add("removes", string(argument), "remove")
	}
	return list
}
