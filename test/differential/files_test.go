// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import "testing"

// storage returns a config with only a storage section, of a spec version without special mode
// bits.
func storage(sections string) string { return spec("3.4.0", `"storage":{`+sections+`}`) }

func spec(version, sections string) string {
	return `{"ignition":{"version":"` + version + `"},` + sections + `}`
}

func TestFiles(t *testing.T) { runAll(t, newFiles()) }

func newFiles() []scenario {
	return []scenario{
		{name: "a new file", config: storage(`"files":[{"path":"/etc/new","contents":{"source":"data:,new"}}]`)},
		{
			name: "a file with mode and owner",
			config: storage(`"files":[{"path":"/etc/new","mode":288,"user":{"id":7},"group":{"id":8},
				"contents":{"source":"data:,new"}}]`),
		},
		{
			name: "an owner by name",
			config: storage(`"files":[{"path":"/etc/new","user":{"name":"core"},"group":{"name":"wheel"},
				"contents":{"source":"data:,new"}}]`),
		},
		{
			name:   "an empty name is no owner",
			config: storage(`"files":[{"path":"/etc/new","user":{"name":""},"group":{"name":""}}]`),
		},
		{
			name:   "parents are made",
			config: storage(`"files":[{"path":"/a/b/c/d","mode":384,"user":{"id":7},"contents":{"source":"data:,deep"}}]`),
		},
		{name: "no contents", config: storage(`"files":[{"path":"/etc/new","mode":384}]`)},
		{name: "empty source", config: storage(`"files":[{"path":"/etc/new","contents":{"source":""}}]`)},
		{name: "empty data", config: storage(`"files":[{"path":"/etc/new","contents":{"source":"data:,"}}]`)},
		{
			name: "base64",
			config: storage(`"files":[{"path":"/etc/new",
				"contents":{"source":"data:text/plain;charset=utf-8;base64,AAECAw=="}}]`),
		},
		{name: "percent", config: storage(`"files":[{"path":"/etc/new","contents":{"source":"data:,a%20b%0Ac%2C+d"}}]`)},
		{name: "gzip", config: storage(`"files":[{"path":"/etc/new","contents":{"source":"GZIPPED","compression":"gzip"}}]`)},
		{name: "gzip is not requested", config: storage(`"files":[{"path":"/etc/new","contents":{"source":"GZIPPED"}}]`)},
		{
			name: "a hash of what is expanded",
			config: storage(`"files":[{"path":"/etc/new","contents":{"source":"GZIPPED","compression":"gzip",
				"verification":{"hash":"SHA512"}}}]`),
		},
		{
			name: "sha256",
			config: storage(`"files":[{"path":"/etc/new","contents":{"source":"data:,a",
				"verification":{"hash":"sha256-ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}}}]`),
		},
		{
			name: "appends",
			config: storage(`"files":[{"path":"/etc/new","contents":{"source":"data:,1"},"append":[{"source":"data:,2"},
				{"source":"GZIPPED","compression":"gzip","verification":{"hash":"SHA512"}}]}]`),
		},
		{
			name:   "appends make a file",
			config: storage(`"files":[{"path":"/etc/new","mode":384,"append":[{"source":"data:,1"}]}]`),
		},
		{
			name: "appends nothing", difference: differsEmptyAppend,
			config:         storage(`"files":[{"path":"/etc/new","append":[{"source":"data:,1"},{},{"source":""}]}]`),
			ignitionConfig: storage(`"files":[{"path":"/etc/new","append":[{"source":"data:,1"}]}]`),
		},
		{name: "appends an empty source", config: storage(`"files":[{"path":"/etc/new","append":[{"source":""}]}]`)},
		{
			name: "special bits before 3.6",
			config: storage(`"files":[{"path":"/usr/tool","mode":3565,"contents":{"source":"data:,x"}}],
				"directories":[{"path":"/tmp","mode":1023}]`),
		},
		{
			name: "special bits of 3.6",
			config: spec("3.6.0",
				`"storage":{"files":[{"path":"/usr/tool","mode":3565,"user":{"id":7},"contents":{"source":"data:,x"}}],
					"directories":[{"path":"/tmp","mode":1023}]}`),
		},
		{
			name:   "mode zero",
			config: storage(`"files":[{"path":"/etc/new","mode":0}],"directories":[{"path":"/etc/none","mode":0}]`),
		},
		{
			name:   "version 3.0",
			config: spec("3.0.0", `"storage":{"files":[{"path":"/etc/new","contents":{"source":"data:,x"}}]}`),
		},
		{
			name:   "unknown keys are only warned of",
			config: spec("3.2.0", `"storage":{"files":[{"path":"/etc/new","wrong":1}]}`),
		},
		{name: "a file below the root itself", config: storage(`"files":[{"path":"/new"}]`)},
		{
			name: "twenty of one depth",
			config: storage(`"directories":[` + repeatNumbered(20, `{"path":"/d/%d","mode":448}`) + `],"files":[` +
				repeatNumbered(20, `{"path":"/d/%d/f","contents":{"source":"data:,%[1]d"}}`) + `]`),
		},
	}
}

// TestExistingFiles compares configs for files that already exist.
func TestExistingFiles(t *testing.T) { runAll(t, existingFiles()) }

func existingFiles() []scenario {
	there := []Node{{Path: "/etc/there", Content: "theirs\n", Mode: 0o640, UID: 7, GID: 8, Xattr: "kept"}}
	tree := []Node{
		{Path: "/etc/there/", Mode: 0o711, UID: 7},
		{Path: "/etc/there/a/b/deep", Content: "deep"},
		{Path: "/etc/there/a/link", Link: "../.."},
	}
	pipe := []Node{{Path: "/etc/there/fifo", Fifo: true}}
	return []scenario{
		{
			name:     "contents without overwrite",
			tree:     there,
			config:   storage(`"files":[{"path":"/etc/there","contents":{"source":"data:,ours"}}]`),
			bothFail: "/etc/there",
		},
		{
			name: "exactly as in the config", tree: there, difference: differsIdentical,
			config: storage(`"files":[{"path":"/etc/there","mode":416,"user":{"id":7},"group":{"id":8},
				"contents":{"source":"data:,theirs%0A"}},{"path":"/etc/new"}]`),
			ignitionConfig: storage(`"files":[{"path":"/etc/new"}]`),
		},
		{name: "no contents keeps it", tree: there, config: storage(`"files":[{"path":"/etc/there"}]`)},
		{name: "no contents sets the mode", tree: there, config: storage(`"files":[{"path":"/etc/there","mode":384}]`)},
		{
			name:   "no contents sets the owner",
			tree:   there,
			config: storage(`"files":[{"path":"/etc/there","user":{"name":"core"}}]`),
		},
		{
			name:   "it is appended to",
			tree:   there,
			config: storage(`"files":[{"path":"/etc/there","append":[{"source":"data:,more%0A"}]}]`),
		},
		{
			name: "it is appended to with mode and owner",
			tree: there,
			config: storage(`"files":[{"path":"/etc/there","mode":384,"group":{"id":9},"append":[{"source":"data:,more%0A"},
				{"source":"data:,andmore"}]}]`),
		},
		{
			name:   "overwritten",
			tree:   there,
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,ours"}}]`),
		},
		{
			name: "overwritten with owner and mode",
			tree: there,
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"mode":256,"user":{"id":3},
				"contents":{"source":"data:,ours"}}]`),
		},
		{
			name: "overwritten and appended to",
			tree: there,
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,a"},
				"append":[{"source":"data:,b"}]}]`),
		},
		{
			name:     "overwritten with nothing",
			tree:     there,
			config:   storage(`"files":[{"path":"/etc/there","overwrite":true}]`),
			bothFail: "overwrite must be false",
		},
		{
			name:   "overwritten with nothing by name",
			tree:   there,
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":""}}]`),
		},
		{
			name:   "a tree is overwritten by a file",
			tree:   tree,
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,ours"}}]`),
		},
		{
			name:   "a tree is overwritten by a link",
			tree:   tree,
			config: storage(`"links":[{"path":"/etc/there","overwrite":true,"target":"/nowhere/at/all"}]`),
		},
		{
			name: "a tree is overwritten by a directory",
			tree: tree,
			config: storage(`"directories":[{"path":"/etc/there","overwrite":true,"mode":448}],
				"files":[{"path":"/etc/there/new"}]`),
		},
		{
			name: "a tree is overwritten and filled again",
			tree: tree,
			config: storage(`"directories":[{"path":"/etc/there","overwrite":true}],
				"files":[{"path":"/etc/there/a/b/deep","contents":{"source":"data:,new"}}]`),
		},
		{
			name:     "a directory in the way",
			tree:     tree,
			config:   storage(`"files":[{"path":"/etc/there","contents":{"source":"data:,ours"}}]`),
			bothFail: "/etc/there",
		},
		{
			name:     "a directory in the way of nothing",
			tree:     tree,
			config:   storage(`"files":[{"path":"/etc/there"}]`),
			bothFail: "/etc/there",
		},
		{
			name:     "a link in the way",
			tree:     []Node{{Path: "/etc/there", Link: "elsewhere"}},
			config:   storage(`"files":[{"path":"/etc/there","contents":{"source":"data:,ours"}}]`),
			bothFail: "/etc/there",
		},
		{
			name:   "a link is overwritten, not followed",
			tree:   []Node{{Path: "/etc/there", Link: "elsewhere"}, {Path: "/etc/elsewhere", Content: "safe"}},
			config: storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,ours"}}]`),
		},
		{
			name:     "a pipe in the way",
			tree:     []Node{{Path: "/etc/there", Fifo: true}},
			config:   storage(`"files":[{"path":"/etc/there"}]`),
			bothFail: "/etc/there",
		},
		{
			name:       "a pipe is overwritten",
			tree:       []Node{{Path: "/etc/there", Fifo: true}},
			config:     storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,ours"}}]`),
			difference: differsSpecialFiles,
			agentFails: "/etc/there is a special file",
		},
		{
			name:       "a tree with a pipe is overwritten",
			tree:       pipe,
			config:     storage(`"files":[{"path":"/etc/there","overwrite":true,"contents":{"source":"data:,ours"}}]`),
			difference: differsSpecialFiles,
			agentFails: "/etc/there/fifo is a special file",
		},
		{
			name:     "a file for a parent",
			tree:     there,
			config:   storage(`"files":[{"path":"/etc/there/below"}]`),
			bothFail: "/etc/there",
		},
		{
			name:   "one of two names is overwritten",
			tree:   append(there, Node{Path: "/etc/two", HardLinkTo: "/etc/there"}),
			config: storage(`"files":[{"path":"/etc/two","overwrite":true,"contents":{"source":"data:,ours"}}]`),
		},
		{
			name: "one of two names is appended to", tree: append(there, Node{Path: "/etc/two", HardLinkTo: "/etc/there"}),
			difference:   differsHardLinks,
			config:       storage(`"files":[{"path":"/etc/two","append":[{"source":"data:,ours"}]}]`),
			ignitionTree: append(there, Node{Path: "/etc/two", Content: "theirs\n", Mode: 0o640, UID: 7, GID: 8, Xattr: "kept"}),
		},
		{
			name: "an existing end is not appended again", tree: there, difference: differsRerun,
			config:         storage(`"files":[{"path":"/etc/there","append":[{"source":"data:,eirs%0A"}]}]`),
			ignitionConfig: storage(`"files":[{"path":"/etc/there"}]`),
		},
		{
			name:   "one of two names gets a mode",
			tree:   append(there, Node{Path: "/etc/two", HardLinkTo: "/etc/there"}),
			config: storage(`"files":[{"path":"/etc/two","mode":384}]`),
		},
	}
}
