// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print prints the nodes that were enrolled with options, and how their hosts join. edit returns a remedy as users can
// paste it.
func (r *Result) Print(w *report.Page, options Options, edit func(report.Remedy) report.Remedy) {
	w.Findings(r.Findings)
	var first *Enrolled // with a file for its host
	usable := 0
	for i := range r.Enrolled {
		node := &r.Enrolled[i]
		node.print(w)
		if node.State == Created || node.State == Completed {
			first = cmp.Or(first, node)
			usable++
		}
	}
	if r.Inventory != "" {
		w.Printf("%s\n", r.Inventory)
	}
	if r.ForAll != "" {
		w.Item("", r.ForAll+" is a secret for all hosts of the list, each of which finds its entry")
	}
	if first == nil {
		return
	}
	name := first.NodeName
	if usable > 1 {
		name = "NAME"
	}
	options.printUsage(w, name, first)
	if first.EnrollmentFile != "" {
		w.Printf("# admit the hosts, before or after; the manifests are not secret:\n"+
			"oc --kubeconfig hosted.kubeconfig apply -f %s\n", report.ShellWord(filepath.Dir(first.EnrollmentFile)))
	} else {
		w.Printf("%s\n", edit("# follow the nodes:\nhcp-node-admin nodes"))
	}
}

// print prints what was done for the node.
func (e *Enrolled) print(w *report.Page) {
	path := cmp.Or(e.HostFile, e.TokenFile, e.EnrollmentFile)
	switch {
	case e.State == Existing && path == "":
		w.Item(e.NodeName+": ", "already enrolled, kept")
	case e.State == Incomplete:
		w.Item(e.NodeName+": ", path+" was kept; run the same command again to complete the enrollment")
	case e.State == Existing:
		w.Item(e.NodeName+": ", path+" exists and is kept, valid until "+report.Timestamp(e.Expires))
	default:
		w.Item(e.NodeName+": ", fmt.Sprintf("%s, %s, valid until %s", e.State, path, report.Timestamp(e.Expires)))
	}
	if e.State == Created && len(e.Addresses) == 0 {
		w.Item("  ", "no address given: an administrator must approve the node's serving CSR")
	}
}

// printUsage prints how the hosts use their files.
func (o Options) printUsage(w *report.Page, name string, one *Enrolled) {
	dir := report.ShellWord(filepath.Join(o.Dir, "tokens"))
	switch o.Input.Format {
	case CloudInit, Kickstart:
		file := "its own file of " + dir
		if o.Input.ForAll != "" {
			file = report.ShellWord(o.Input.ForAll)
		}
		use := "pass to each machine %s, a secret, as user data"
		if o.Input.Format == Kickstart {
			use = "append to the kickstart file of each host %s, a secret"
		}
		w.Printf("\n# "+use+"\n", file)
	case Ignition:
		w.Printf("\n# install each host with its own Ignition config, a secret, or pass it as the cloud's user data:\n"+
			"coreos-installer install --ignition-file %s/%s.ign /dev/DEVICE\n", dir, name)
	case Ansible:
		w.Printf("\n# run the scripts, secrets, on the hosts with a playbook such as examples/ansible/join.yaml:\n"+
			"ansible-playbook -i %s join.yaml\n", report.ShellWord(filepath.Join(o.Dir, "inventory.yaml")))
	case Dir:
		userData := " --user-data user-data.ign"
		if one.HasUserData || one.Secret != "" {
			userData = ""
		}
		w.Printf("\n# copy each join token, a secret, only to its host; there:\n"+
			"hcp-node-agent join --join-token %s.token%s\n", name, userData)
	}
}
