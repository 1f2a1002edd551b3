// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// The few names make conflicts between entries, links and existing files likely. None is a path
// of a real host, so that Ignition finds nothing when a link leads it out of the root.
var (
	dirs    = []string{"/dd", "/dd/ee", "/ff"}
	aliases = []string{"/ll", "/mm", "/dd/nn"}
	leaves  = []string{"aa", "bb", "cc"}
	targets = []string{"/dd", "dd/ee", "../ff", "/ff/later", "aa", "./ee/../aa", "/dd/bb"}
)

// pipe is never used as a parent, because Ignition would block until another process writes to
// it.
const pipe = "/pp"

// randomCase is a config and the tree to apply it to.
type randomCase struct {
	tree   []Node
	config types.Config
}

func generate(bytes []byte) randomCase {
	d := &choices{bytes}
	g := randomCase{tree: randomTree(d)}
	g.config.Ignition.Version = oneOf(d, "3.4.0", "3.6.0", "3.5.0", "3.3.0", "3.2.0", "3.1.0", "3.0.0")
	storage := &g.config.Storage
	known := map[string]bool{}
	// Two entries for one path are refused immediately, so they are rare here.
	fresh := func(name string) bool {
		before := known[name]
		known[name] = true
		return !before || d.oneIn(30)
	}
	for d.number(3) > 0 {
		directory := types.Directory{Node: randomNode(d), DirectoryEmbedded1: types.DirectoryEmbedded1{Mode: randomMode(d)}}
		if fresh(directory.Path) {
			storage.Directories = append(storage.Directories, directory)
		}
	}
	for d.number(4) > 0 {
		if file := randomFile(d); fresh(file.Path) {
			storage.Files = append(storage.Files, file)
		}
	}
	for d.number(3) > 0 {
		if link := randomLink(d); fresh(link.Path) {
			storage.Links = append(storage.Links, link)
		}
	}
	for d.number(3) > 0 {
		if unit := randomUnit(d); fresh(unit.Name) {
			g.config.Systemd.Units = append(g.config.Systemd.Units, unit)
		}
	}
	if d.oneIn(6) {
		g.config.Passwd = randomPasswd(d)
	}
	return g
}

// randomTree never creates nodes below a non-directory, because the kernel resolves the paths
// without regard to the root.
func randomTree(d *choices) []Node {
	var tree []Node
	taken := map[string]bool{}
	for _, alias := range aliases {
		if d.oneIn(2) {
			tree = append(tree, Node{Path: alias, Link: oneOf(d, targets[:4]...)})
			taken[alias] = true
		}
	}
	for d.number(6) > 0 {
		dir := oneOf(d, dirs...)
		name := dir + "/" + oneOf(d, leaves...)
		node := Node{
			Path: name,
			Mode: oneOf[uint32](d, 0, 0o600, 0o711, 0o444),
			UID:  oneOf(d, 0, 7, 1000),
			GID:  oneOf(d, 0, 8),
		}
		switch d.number(5) {
		case 0, 1:
			node.Content = oneOf(d, "old\n", "", "x1")
			node.Xattr = oneOf(d, "", "kept")
		case 2:
			node.Path += "/"
			node.Mode = oneOf[uint32](d, 0, 0o700, 0o2775)
		case 3:
			if node.Link = oneOf(d, targets...); path.Base(node.Link) == path.Base(name) {
				node.Link = "zz" // no loops: see differsLinkChain
			}
		case 4: // a directory with content
			node.Path += "/deep/er"
		}
		first := tree
		if node.Content != "" && len(first) > 0 && d.oneIn(4) {
			if other := first[len(first)-1]; other.Content != "" {
				node = Node{Path: name, HardLinkTo: other.Path}
			}
		}
		if !taken[name] {
			taken[name] = true
			tree = append(tree, node)
		}
	}
	if d.oneIn(8) {
		tree = append(tree, Node{Path: pipe, Fifo: true})
	}
	return append(tree, randomUnits(d)...)
}

func randomUnits(d *choices) []Node {
	const (
		system = "/etc/systemd/system/"
		wants  = system + "multi-user.target.wants/"
		vendor = "/usr/lib/systemd/system/"
	)
	var tree []Node
	if d.oneIn(3) {
		tree = append(tree, Node{Path: wants + "there.service", Link: vendor + "there.service"})
	}
	if d.oneIn(4) {
		tree = append(tree, Node{Path: wants + "many@one.service", Link: vendor + "many@.service"})
	}
	switch d.number(6) {
	case 3:
		tree = append(tree, Node{Path: system + "a.service", Link: "/dev/null"})
	case 4:
		tree = append(tree, Node{Path: system + "a.service", Content: unitText, Mode: 0o600, UID: 7})
	case 5:
		tree = append(tree, Node{Path: system + "a.service.d/10.conf", Content: "[Unit]\n", Mode: 0o600})
	}
	if d.oneIn(5) {
		tree = append(tree, Node{
			Path:    "/etc/systemd/system-preset/20-ignition.preset",
			Content: "enable x.service\n",
			Mode:    0o640,
		})
	}
	return tree
}

func randomNode(d *choices) types.Node {
	name := path.Join(oneOf(d, append(dirs, aliases...)...), oneOf(d, leaves...))
	switch d.number(8) {
	case 6:
		name = path.Join(name, oneOf(d, leaves...))
	case 7:
		name = oneOf(d, append(dirs, pipe, "/dd/nn", "/mm")...)
	}
	// Without overwrite, most entries would conflict with existing files.
	node := types.Node{Path: name}
	if overwrite := oneOf(d, true, true, true, false); d.number(5) > 0 && name != pipe {
		node.Overwrite = &overwrite
	}
	switch d.number(6) {
	case 4:
		node.User.ID, node.Group.ID = maybe(d, 2, 3, 7), maybe(d, 2, 3, 8)
	case 5:
		node.User.Name, node.Group.Name = maybe(d, 2, "core", "core", "core", "bin", "unheard"),
			maybe(d, 2, "wheel", "staff", "")
	}
	return node
}

func randomMode(d *choices) *int { return maybe(d, 2, 0o640, 0, 0o755, 0o4755, 0o2711, 0o1777) }

func randomFile(d *choices) types.File {
	file := types.File{Node: randomNode(d)}
	file.Mode = randomMode(d)
	if d.number(4) != 0 {
		file.Contents = randomResource(d, "data:,new", "data:,old%0A", "data:,", "", "data:;base64,bmV3")
	}
	if file.Contents.Source == nil && d.number(10) > 0 {
		file.Overwrite = nil // overwrite would be invalid
	}
	for d.oneIn(4) {
		// Only content that no existing file ends with: the agent does not append that again.
		if more := randomResource(d, "data:,more", "data:,%2B%0A"); more.Source != nil {
			file.Append = append(file.Append, more)
		}
	}
	return file
}

func randomResource(d *choices, sources ...string) types.Resource {
	source := oneOf(d, sources...)
	resource := types.Resource{Source: &source}
	switch d.number(16) {
	case 13: // invalid for most fields
		hash := "sha512-" + sum("new")
		resource.Verification.Hash = &hash
	case 14:
		source, compression := data(string(gzipped("expanded\n"))), "gzip"
		resource.Source, resource.Compression = &source, &compression
	case 15:
		resource.Source = nil
	}
	return resource
}

func randomLink(d *choices) types.Link {
	link := types.Link{Node: randomNode(d)}
	target := oneOf(d, targets...)
	if d.oneIn(3) {
		hard := d.number(4) > 0
		link.Hard = &hard
		target = path.Join(oneOf(d, append(dirs, aliases...)...), oneOf(d, leaves...))
	}
	link.Target = &target
	return link
}

func randomUnit(d *choices) types.Unit {
	unit := types.Unit{
		Name: oneOf(d, "a.service", "there.service", "many@one.service", "many@two.service", "new@.service",
			"nowhere.socket"),
	}
	unit.Contents = maybe(d, 2, unitText, "", "[Unit]\nDescription=other\n")
	unit.Enabled = maybe(d, 2, true, false)
	unit.Mask = maybe(d, 3, true, false)
	for _, name := range []string{"10.conf", "20.conf"} {
		if d.oneIn(4) {
			unit.Dropins = append(unit.Dropins, types.Dropin{Name: name, Contents: maybe(d, 2, "[Service]\n", "")})
		}
	}
	return unit
}

func randomPasswd(d *choices) types.Passwd {
	var passwd types.Passwd
	for _, name := range []string{"team", "staff", "core"} {
		if !d.oneIn(3) {
			continue
		}
		passwd.Groups = append(passwd.Groups, types.PasswdGroup{
			Name: name, Gid: maybe(d, 3, 2000, 50), System: maybe(d, 4, true), ShouldExist: maybe(d, 5, false, true),
			PasswordHash: maybe(d, 4, "$6$a$b", ""),
		})
	}
	for _, name := range []string{"new", "core", "bin"} {
		if !d.oneIn(2) {
			continue
		}
		user := types.PasswdUser{
			Name: name, UID: maybe(d, 5, 1500, 1000), Gecos: maybe(d, 4, "Some One"), Shell: maybe(d, 4, "/bin/sh"),
			HomeDir: maybe(d, 5, "/var/lib/new", "/home/other"), PrimaryGroup: maybe(d, 4, "wheel", "team"),
			NoCreateHome: maybe(d, 4, true), NoUserGroup: maybe(d, 5, true), System: maybe(d, 5, true),
			PasswordHash: maybe(d, 3, "$6$a$b", ""), ShouldExist: maybe(d, 6, false, true),
		}
		for _, group := range []types.Group{"wheel", "staff"} {
			if d.oneIn(4) {
				user.Groups = append(user.Groups, group)
			}
		}
		for _, key := range []types.SSHAuthorizedKey{"ssh-ed25519 AAAA", "ssh-rsa BBBB"} {
			if d.oneIn(4) {
				user.SSHAuthorizedKeys = append(user.SSHAuthorizedKeys, key)
			}
		}
		passwd.Users = append(passwd.Users, user)
	}
	return passwd
}

// scenario returns the scenario to compare. A first boot is slower and only needed for accounts.
func (g randomCase) scenario(t testing.TB) scenario {
	t.Helper()
	raw, err := json.Marshal(g.config)
	if err != nil {
		t.Fatal(err)
	}
	tree := slices.Clone(g.tree)
	if strings.Contains(string(raw), `"append"`) {
		// A file that is appended to loses its other names: see differences_test.go.
		for i, node := range tree {
			if node.HardLinkTo != "" {
				tree[i] = Node{Path: node.Path, Content: "apart"}
			}
		}
	}
	return scenario{tree: tree, config: string(raw), firstBoot: len(g.config.Passwd.Users)+len(g.config.Passwd.Groups) > 0}
}
