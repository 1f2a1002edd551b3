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
	if machine.OSImageURL != "" && isPackageMode(p, subject{}) {
		p.addUnsupported("operating system image", "os-image", "the host keeps its packages, which must be of the same release as "+machine.OSImageURL, "")
	}
	p.noteKernelArguments()
	for _, extension := range machine.Extensions {
		reason, remedy := "the agent does not install it, and its packages are unknown", report.Remedy("")
		packages := p.extensionPackages(extension)
		p.plan.Extensions = append(p.plan.Extensions, Extension{Name: extension, Packages: strings.Fields(packages)})
		if packages != "" {
			reason, remedy = "the agent does not install it", report.Remedy("dnf install "+packages)
		}
		p.addUnsupported("extension "+extension, "extension", reason, remedy)
	}
	if kernel := machine.KernelType; kernel != "" && kernel != "default" {
		reason, remedy := "the agent does not install kernels, and its packages are unknown", report.Remedy("")
		p.plan.KernelPackages = kernelPackages[kernel]
		if packages := p.plan.KernelPackages; packages != "" {
			reason, remedy = "the agent does not install kernels", report.Remedy("dnf install "+packages+" # takes effect at the next boot")
		}
		p.addUnsupported("kernel type "+kernel, "kernel-type", reason, remedy)
	}
	if machine.FIPS != p.in.Facts.FIPS && machine.Name != "" {
		p.addUnsupported(fmt.Sprintf("FIPS mode: %t", machine.FIPS), "fips", "the host was installed in another mode; FIPS mode must be enabled at installation time", "")
	}
}

// Extension is an extension of the operating system that the payload requires.
type Extension struct {
	Name     string
	Packages []string // nil if they are unknown
}

// kernelPackages maps kernel types to packages (machine-config-operator, pkg/daemon/update.go).
var kernelPackages = map[string]string{
	"realtime":  "kernel-rt-core kernel-rt-modules kernel-rt-modules-extra",
	"64k-pages": "kernel-64k-core kernel-64k-modules kernel-64k-modules-core kernel-64k-modules-extra",
}

// extensionPackages returns the packages of an extension (machine-config-operator,
// SupportedExtensions), "" for an unknown one.
func (p *planner) extensionPackages(extension string) string {
	packages := map[string]string{
		"two-node-ha":          "pacemaker pcs fence-agents-all",
		"ipsec":                "NetworkManager-libreswan libreswan",
		"usbguard":             "usbguard",
		"kerberos":             "krb5-workstation libkadm5",
		"kernel-devel":         "kernel-devel kernel-headers",
		"sandboxed-containers": "kata-containers",
		"sysstat":              "sysstat",
		"wasm":                 "crun-wasm",
	}[extension]
	if _, found := p.findUnit("openvswitch-ipsec.service"); found && extension == "ipsec" {
		packages += " openvswitch3.5-ipsec"
	}
	return packages
}

func (p *planner) addUnsupported(subject, rule, reason string, remedy report.Remedy) {
	p.plan.Notes = append(p.plan.Notes, Note{Subject: subject, Action: Unsupported, Reason: reason, Rule: rule, Remedy: remedy})
}

// UnappliedKernelArguments returns one message for each kernel argument, which no change of a file tree can
// apply.
func UnappliedKernelArguments(payload *ignition.Payload) []string {
	var list []string
	for _, argument := range payload.Config.KernelArguments.ShouldExist {
		list = append(list, fmt.Sprintf("the config requires the kernel argument %s, which is not stored in a file: set it where the boot loader of the image is configured", argument))
	}
	for _, argument := range payload.Config.KernelArguments.ShouldNotExist {
		list = append(list, fmt.Sprintf("the config removes the kernel argument %s, which is not stored in a file: remove it where the boot loader of the image is configured", argument))
	}
	return list
}
