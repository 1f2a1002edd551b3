// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// repeatNumbered returns n numbered copies of a text, separated by commas.
func repeatNumbered(n int, format string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ",")
}

func TestDirectories(t *testing.T) { runAll(t, directories()) }

func directories() []scenario {
	there := []Node{
		{Path: "/srv/there/", Mode: 0o711, UID: 7, GID: 8, Xattr: "kept"},
		{Path: "/srv/there/file", Content: "x"},
	}
	return []scenario{
		{name: "new", config: storage(`"directories":[{"path":"/srv/new"}]`)},
		{
			name:   "new, deep, with mode and owner",
			config: storage(`"directories":[{"path":"/srv/a/b/new","mode":456,"user":{"name":"core"},"group":{"id":8}}]`),
		},
		{
			name: "inside each other",
			config: storage(`"directories":[{"path":"/srv/a/b","mode":448},{"path":"/srv/a","mode":493,"user":{"id":3}},
				{"path":"/srv","mode":457}]`),
		},
		{name: "exists", tree: there, config: storage(`"directories":[{"path":"/srv/there"}]`)},
		{name: "exists, mode", tree: there, config: storage(`"directories":[{"path":"/srv/there","mode":448}]`)},
		{
			name:   "exists, owner",
			tree:   there,
			config: storage(`"directories":[{"path":"/srv/there","group":{"name":"wheel"}}]`),
		},
		{
			name: "exists, overwritten", tree: there, difference: differsInode,
			config:         storage(`"directories":[{"path":"/srv/there","overwrite":true}]`),
			ignitionConfig: storage(`"directories":[{"path":"/srv/there"}]`),
			ignitionTree:   []Node{{Path: "/srv/there/", Xattr: "kept"}},
		},
		{
			name:   "exists, special bits",
			tree:   []Node{{Path: "/srv/there/", Mode: 0o2775}},
			config: storage(`"directories":[{"path":"/srv/there","user":{"id":3}}]`),
		},
		{
			name: "below special bits",
			tree: []Node{{Path: "/srv/there/", Mode: 0o2775, GID: 8}},
			config: storage(`"directories":[{"path":"/srv/there/new"}],"files":[{"path":"/srv/there/file"},
				{"path":"/srv/there/sub/file"}]`),
		},
		{
			name:     "a file in the way",
			tree:     []Node{{Path: "/srv/there", Content: "x"}},
			config:   storage(`"directories":[{"path":"/srv/there"}]`),
			bothFail: "/srv/there",
		},
		{
			name:   "a file is overwritten",
			tree:   []Node{{Path: "/srv/there", Content: "x"}},
			config: storage(`"directories":[{"path":"/srv/there","overwrite":true,"mode":448}]`),
		},
		{
			name:     "a link to a directory in the way",
			tree:     append(there, Node{Path: "/srv/link", Link: "there"}),
			config:   storage(`"directories":[{"path":"/srv/link"}]`),
			bothFail: "/srv/link",
		},
		{
			name:   "a link to a directory is overwritten",
			tree:   append(there, Node{Path: "/srv/link", Link: "there"}),
			config: storage(`"directories":[{"path":"/srv/link","overwrite":true}]`),
		},
	}
}

func TestLinks(t *testing.T) { runAll(t, links()) }

func links() []scenario {
	target := []Node{{Path: "/srv/target", Content: "x", Mode: 0o640, UID: 7, GID: 8}}
	link := append(slices.Clone(target), Node{Path: "/srv/link", Link: "./target", UID: 5})
	return []scenario{
		{name: "new", config: storage(`"links":[{"path":"/srv/link","target":"/nowhere/at/all"}]`)},
		{
			name:   "new with an owner",
			config: storage(`"links":[{"path":"/srv/link","target":"gone","user":{"name":"core"},"group":{"id":8}}]`),
		},
		{
			name:   "new with a group by name",
			config: storage(`"links":[{"path":"/srv/link","target":"gone","group":{"name":"wheel"}}]`),
		},
		{name: "new, deep", config: storage(`"links":[{"path":"/srv/a/b/link","target":"../../gone"}]`)},
		{name: "new, target not clean", config: storage(`"links":[{"path":"/srv/link","target":"./gone//x/../y/"}]`)},
		{
			name:   "new, to a file with an owner",
			tree:   target,
			config: storage(`"links":[{"path":"/srv/link","target":"target"}]`),
		},
		{
			name:   "new, to a similar file",
			tree:   target,
			config: storage(`"links":[{"path":"/srv/link","target":"gone/../target"}]`),
		},
		{name: "exists", tree: link, config: storage(`"links":[{"path":"/srv/link","target":"target","user":{"id":3}}]`)},
		{
			name:   "exists, overwritten",
			tree:   link,
			config: storage(`"links":[{"path":"/srv/link","target":"./target","overwrite":true,"user":{"id":3}}]`),
		},
		{
			name:     "another exists",
			tree:     link,
			config:   storage(`"links":[{"path":"/srv/link","target":"other"}]`),
			bothFail: "/srv/link",
		},
		{
			name:     "a file exists",
			tree:     target,
			config:   storage(`"links":[{"path":"/srv/target","target":"other"}]`),
			bothFail: "/srv/target",
		},
		{
			name:   "a file is overwritten",
			tree:   target,
			config: storage(`"links":[{"path":"/srv/target","target":"other","overwrite":true}]`),
		},
		{name: "hard", tree: target, config: storage(`"links":[{"path":"/srv/a/hard","target":"/srv/target","hard":true}]`)},
		{
			name: "hard, owner is not set",
			tree: target,
			config: storage(`"links":[{"path":"/srv/hard","target":"/srv/target","hard":true,"user":{"id":3},
				"group":{"id":3}}]`),
		},
		{
			name: "hard, to a new file that is deeper",
			config: storage(`"files":[{"path":"/srv/a/b/c","mode":384,"contents":{"source":"data:,x"}}],
				"links":[{"path":"/hard","target":"/srv/a/b/c","hard":true}]`),
		},
		{
			name:   "hard, exists",
			tree:   append(target, Node{Path: "/srv/hard", HardLinkTo: "/srv/target"}),
			config: storage(`"links":[{"path":"/srv/hard","target":"/srv/target","hard":true}]`),
		},
		{
			name:     "hard, another exists",
			tree:     append(target, Node{Path: "/srv/hard", Content: "x"}),
			config:   storage(`"links":[{"path":"/srv/hard","target":"/srv/target","hard":true}]`),
			bothFail: "/srv/hard",
		},
		{
			name:   "hard, another is overwritten",
			tree:   append(target, Node{Path: "/srv/hard", Content: "x"}),
			config: storage(`"links":[{"path":"/srv/hard","target":"/srv/target","hard":true,"overwrite":true}]`),
		},
		{
			name:     "hard, to nothing",
			config:   storage(`"files":[{"path":"/srv/first"}],"links":[{"path":"/srv/hard","target":"/srv/gone","hard":true}]`),
			bothFail: "/srv/gone",
		},
		{
			name:   "hard, to a link",
			tree:   link,
			config: storage(`"links":[{"path":"/srv/hard","target":"/srv/link","hard":true}]`),
		},
		{
			name: "hard, to a new link",
			tree: target,
			config: storage(`"links":[{"path":"/srv/link","target":"target"},
				{"path":"/srv/hard","target":"/srv/link","hard":true}]`),
		},
		{
			name:     "hard, a similar link exists",
			tree:     append(link, Node{Path: "/srv/hard", Link: "./target", UID: 5}),
			config:   storage(`"links":[{"path":"/srv/hard","target":"/srv/link","hard":true}]`),
			bothFail: "/srv/hard",
		},
		{
			name:     "hard, to a directory",
			config:   storage(`"links":[{"path":"/srv/hard","target":"/etc","hard":true}]`),
			bothFail: "/srv/hard",
		},
		{
			name: "hard, to an overwritten file",
			tree: target,
			config: storage(`"files":[{"path":"/srv/target","overwrite":true,"contents":{"source":"data:,new"}}],
				"links":[{"path":"/srv/hard","target":"/srv/target","hard":true}]`),
		},
		{
			name: "hard, to a hard link",
			tree: target,
			config: storage(`"links":[{"path":"/srv/a","target":"/srv/target","hard":true},
				{"path":"/srv/b","target":"/srv/a","hard":true}]`),
		},
		{name: "false is soft", config: storage(`"links":[{"path":"/srv/link","target":"gone","hard":false}]`)},
		{name: "no target", config: spec("3.3.0", `"storage":{"links":[{"path":"/srv/link"}]}`), bothFail: "target"},
	}
}

// TestThroughLinks compares paths through links of the tree, which must not lead out of the root.
func TestThroughLinks(t *testing.T) { runAll(t, throughLinks()) }

func throughLinks() []scenario {
	tree := []Node{
		{Path: "/var/real/", Mode: 0o711},
		{Path: "/abs", Link: "/var/real"},
		{Path: "/rel", Link: "var/real"},
		{Path: "/up", Link: "../../../var/real"},
		{Path: "/twice", Link: "abs"},
		{Path: "/gone", Link: "/var/later"},
		{Path: "/var/file", Content: "x"},
		{Path: "/tofile", Link: "var/file"},
		{Path: "/loop", Link: "loop"},
	}
	return []scenario{
		{
			name: "absolute",
			tree: tree,
			config: storage(`"files":[{"path":"/abs/a/b"}],"directories":[{"path":"/abs/c"}],
				"links":[{"path":"/abs/d","target":"x"}]`),
		},
		{name: "relative", tree: tree, config: storage(`"files":[{"path":"/rel/a/b"}]`)},
		{name: "out of the root", tree: tree, config: storage(`"files":[{"path":"/up/a/b"}]`)},
		{name: "to a missing target", tree: tree, config: storage(`"files":[{"path":"/gone/a"}]`)},
		{
			name:           "a link to a link",
			tree:           tree,
			difference:     differsLinkChain,
			config:         storage(`"files":[{"path":"/twice/a"}]`),
			ignitionConfig: storage(`"files":[{"path":"/abs/a"}]`),
		},
		{name: "to a file", tree: tree, config: storage(`"files":[{"path":"/tofile/a"}]`), bothFail: "/"},
		{name: "to itself", tree: tree, config: storage(`"files":[{"path":"/loop/a"}]`), bothFail: "/"},
		{
			name:     "two ways to one file",
			tree:     tree,
			config:   storage(`"files":[{"path":"/abs/a"},{"path":"/rel/a"}]`),
			bothFail: "/var/real/a",
		},
		{
			name:     "two ways, file and directory",
			tree:     tree,
			config:   storage(`"directories":[{"path":"/abs/a"}],"files":[{"path":"/var/real/a"}]`),
			bothFail: "/var/real/a",
		},
		{
			name:   "the last is not followed",
			tree:   tree,
			config: storage(`"links":[{"path":"/abs","target":"/var/real"}],"files":[{"path":"/var/real/a"}]`),
		},
		{
			name:   "a hard link's target is",
			tree:   tree,
			config: storage(`"files":[{"path":"/var/real/a"}],"links":[{"path":"/b","target":"/abs/a","hard":true}]`),
		},
		{
			name: "a unit is",
			tree: []Node{
				{Path: "/usr/lib/systemd/local/"},
				{Path: "/etc/systemd/system/a.service.d", Link: "/usr/lib/systemd/local"},
			},
			config: spec("3.4.0",
				`"systemd":{"units":[{"name":"a.service","dropins":[{"name":"1.conf","contents":"[Service]\n"}]}]}`),
		},
	}
}
