// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// printEnrolled prints the enrolled nodes and how their hosts join.
func printEnrolled(w *report.Page, o *enrollOptions, document enrollDocument, program cli.Program) {
	w.Findings(document.Findings)
	var first *enroll.Enrolled // with a file for its host
	usable := 0
	for i, node := range document.Enrolled {
		printNode(w, node)
		if node.State == enroll.Created || node.State == enroll.Completed {
			first = cmp.Or(first, &document.Enrolled[i])
			usable++
		}
	}
	if document.Inventory != "" {
		w.Printf("%s\n", document.Inventory)
	}
	if document.ForAll != "" {
		w.Item("", document.ForAll+" is a secret for all hosts of the list, each of which finds its entry")
	}
	if first == nil {
		return
	}
	name := first.NodeName
	if usable > 1 {
		name = "NAME"
	}
	printUsage(w, o, name, *first)
	if first.EnrollmentFile != "" {
		w.Printf("# admit the hosts, before or after; the manifests are not secret:\n"+
			"oc --kubeconfig hosted.kubeconfig apply -f %s\n", report.ShellWord(filepath.Dir(first.EnrollmentFile)))
	} else {
		w.Printf("%s\n", program.Remedy("# follow the nodes:\nhcp-node-admin nodes"))
	}
}

// printNode prints what was done for a node.
func printNode(w *report.Page, node enroll.Enrolled) {
	path := cmp.Or(node.HostFile, node.TokenFile, node.EnrollmentFile)
	switch {
	case node.State == enroll.Existing && path == "":
		w.Item(node.NodeName+": ", "already enrolled, kept")
	case node.State == enroll.Incomplete:
		w.Item(node.NodeName+": ", path+" was kept; run the same command again to complete the enrollment")
	case node.State == enroll.Existing:
		w.Item(node.NodeName+": ", path+" exists and is kept, valid until "+report.Timestamp(node.Expires))
	default:
		w.Item(node.NodeName+": ", fmt.Sprintf("%s, %s, valid until %s", node.State, path, report.Timestamp(node.Expires)))
	}
	if node.State == enroll.Created && len(node.Addresses) == 0 {
		w.Item("  ", "no address given: an administrator must approve the node's serving CSR")
	}
}

// printUsage prints how the hosts use their files.
func printUsage(w *report.Page, o *enrollOptions, name string, one enroll.Enrolled) {
	dir := report.ShellWord(filepath.Join(o.dir, "tokens"))
	switch enroll.Format(*o.format) {
	case enroll.CloudInit, enroll.Kickstart:
		file := "its own file of " + dir
		if o.firstBoot.forAll != "" {
			file = report.ShellWord(o.firstBoot.forAll)
		}
		use := "pass to each machine %s, a secret, as user data"
		if *o.format == string(enroll.Kickstart) {
			use = "append to the kickstart file of each host %s, a secret"
		}
		w.Printf("\n# "+use+"\n", file)
	case enroll.Ignition:
		w.Printf("\n# install each host with its own Ignition config, a secret, or pass it as the cloud's user data:\n"+
			"coreos-installer install --ignition-file %s/%s.ign /dev/DEVICE\n", dir, name)
	case enroll.Ansible:
		w.Printf("\n# run the scripts, secrets, on the hosts with a playbook such as examples/ansible/join.yaml:\n"+
			"ansible-playbook -i %s join.yaml\n", report.ShellWord(filepath.Join(o.dir, "inventory.yaml")))
	case enroll.Dir:
		userData := " --user-data user-data.ign"
		if one.HasUserData || one.Secret != "" {
			userData = ""
		}
		w.Printf("\n# copy each join token, a secret, only to its host; there:\n"+
			"hcp-node-agent join --join-token %s.token%s\n", name, userData)
	}
}
