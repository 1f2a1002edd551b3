// SPDX-License-Identifier: Apache-2.0

package entries

import "testing"

func TestLinks(t *testing.T) {
	for name, c := range map[string]scenario{
		"a new one has the owner of what it leads to, when that is in the tree": {
			tree: `f /d/f 0600 5:6 =x
				f /abs 0600 5:6 =x`,
			config: `{"storage":{"links":[{"path":"/l","target":"d/f"},{"path":"/m","target":"/abs"},{"path":"/n","target":"nowhere","user":{"id":4}},{"path":"/o","target":"d/f","group":{"id":4}}]}}`,
			want: []string{
				"link /l u5 g6 -> d/f", "link /m u0 g0 -> /abs", "link /n u4 g0 -> nowhere", "link /o u5 g4 -> d/f",
			},
			after: `d /d 0755 0:0
				f /d/f 0600 5:6 =x
				f /abs 0600 5:6 =x
				l /l 5:6 =d/f
				l /m 0:0 =/abs
				l /n 4:0 =nowhere
				l /o 5:4 =d/f`,
		},
		"an existing one is left alone, its owner too": {
			tree:   `l /l 5:6 =/a//b/`,
			config: `{"storage":{"links":[{"path":"/l","target":"/a/b","user":{"id":1}}]}}`,
			want:   []string{"link /l -> /a//b/"},
			after:  `l /l 5:6 =/a//b/`,
		},
		"overwrite": {
			tree: `l /l 5:6 =/a
				f /m =x
				f /n/x =x`,
			config: `{"storage":{"links":[{"path":"/l","target":"/a","overwrite":true},{"path":"/m","target":"/a","overwrite":true},{"path":"/n","target":"/a","overwrite":true}]}}`,
			want: []string{
				"no file /n/x", "no directory /n", "link /l u0 g0 -> /a", "link /m u0 g0 -> /a", "link /n u0 g0 -> /a",
			},
			after: `l /l 0:0 =/a
				l /m 0:0 =/a
				l /n 0:0 =/a`,
		},
		"hard ones come last, and name what the config makes": {
			config: `{"storage":{"files":[{"path":"/b/c/d","mode":384,"contents":{"source":"data:,x"}}],"links":[{"path":"/a","target":"b/c/d","hard":true}]}}`,
			want:   []string{"file /b/c/d 0600 u0 g0 =x", "hardlink /a -> /b/c/d"},
			after: `f /a 0600 0:0 =x
				d /b 0755 0:0
				d /b/c 0755 0:0
				h /b/c/d =/a`,
		},
		"a name of a file that is replaced becomes one of the new file": {
			tree: `f /a =old
				h /b =/a`,
			config: `{"storage":{"files":[{"path":"/a","overwrite":true,"contents":{"source":"data:,new"}}],"links":[{"path":"/b","target":"/a","hard":true,"overwrite":true}]}}`,
			want:   []string{"file /a 0644 u0 g0 =new", "no file /b", "hardlink /b -> /a"},
			after: `f /a 0644 0:0 =new
				h /b =/a`,
			undoneTree: `f /a 0644 0:0 =old
				f /b 0644 0:0 =old`, // the ledger keeps contents, not that two files were one
		},
		"a name of a unit that is replaced keeps the old content": {
			tree:   `f /etc/systemd/system/a.service 0600 5:6 =[Unit]\n`,
			config: `{"storage":{"links":[{"path":"/old","target":"/etc/systemd/system/a.service","hard":true}]},"systemd":{"units":[{"name":"a.service","contents":"[Service]\n"}]}}`,
			want:   []string{`file /old 0600 u5 g6 =[Unit]\n`, `file /etc/systemd/system/a.service 0644 u0 g0 =[Service]\n`},
			after: `d /etc 0755 0:0
				d /etc/systemd 0755 0:0
				d /etc/systemd/system 0755 0:0
				f /etc/systemd/system/a.service 0644 0:0 =[Service]\n
				f /old 0600 5:6 =[Unit]\n`,
			secondRunError: "/old must be a hard link to /etc/systemd/system/a.service, but another file exists",
		},
		"a hard link to a link is another name of that link": {
			tree:   `l /l 5:6 =x`,
			config: `{"storage":{"links":[{"path":"/m","target":"/l","hard":true}]}}`,
			want:   []string{"hardlink /m -> /l"},
			after: `l /l 5:6 =x
				h /m =/l`,
		},
		"a hard link to a link that the config makes": {
			config: `{"storage":{"links":[{"path":"/a/b","target":"../x"},{"path":"/m","target":"/a/b","hard":true}]}}`,
			want:   []string{"link /a/b u0 g0 -> ../x", "hardlink /m -> /a/b"},
			after: `d /a 0755 0:0
				l /a/b 0:0 =../x
				h /m =/a/b`,
		},
		"a name of a link that is replaced becomes one of the new link": {
			tree: `l /l 5:6 =x
				h /m =/l`,
			config: `{"storage":{"links":[{"path":"/l","target":"y","overwrite":true},{"path":"/m","target":"/l","hard":true,"overwrite":true}]}}`,
			want:   []string{"link /l u0 g0 -> y", "no file /m", "hardlink /m -> /l"},
			after: `l /l 0:0 =y
				h /m =/l`,
			undoneTree: `l /l 5:6 =x
				l /m 5:6 =x`,
		},
		"a link that is alike, and leads to the hard link's target": {
			tree: `l /l 5:6 =/l
				l /m 5:6 =/l`,
			config: `{"storage":{"links":[{"path":"/m","target":"/l","hard":true,"overwrite":true}]}}`,
			want:   []string{"hardlink /m -> /l"},
			after: `l /l 5:6 =/l
				h /m =/l`,
		},
		"on a host that joins files and links are replaced": {
			runningHost: true,
			tree: `f /a 5:6 =x
				f /b 5:6 =y
				l /c 5:6 =y`,
			config: `{"storage":{"links":[{"path":"/b","target":"/a","hard":true},{"path":"/c","target":"a"}]}}`,
			want:   []string{"link /c u0 g0 -> a", "hardlink /b -> /a"},
			after: `f /a 0644 5:6 =x
				h /b =/a
				l /c 0:0 =a`,
		},
	} {
		t.Run(name, c.check)
	}
}
