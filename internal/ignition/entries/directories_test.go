// SPDX-License-Identifier: Apache-2.0

package entries

import "testing"

func TestDirectories(t *testing.T) {
	for name, c := range map[string]scenario{
		"an existing one keeps what the config does not name": {
			tree:   `f /d/f 0600 5:6 =x`,
			config: `{"storage":{"directories":[{"path":"/d","mode":448},{"path":"/e","user":{"id":3}}]}}`,
			want:   []string{"directory /d 0700", "directory /e 0755 u3 g0"},
			after: `d /d 0700 0:0
				d /e 0755 3:0
				f /d/f 0600 5:6 =x`,
		},
		"overwrite leaves only what the config makes, as if nothing had been there": {
			tree: `d /d 0700 5:6
				f /d/gone/deep =x
				f /d/log 0600 5:6 =old
				f /d/sub/kept 0644 0:0 =new
				d /d/sub 0700 5:6
				f /d/file/in =x
				f /d/dir =x`,
			config: `{"storage":{"directories":[{"path":"/d","overwrite":true},{"path":"/d/dir"}],
				"files":[{"path":"/d/log","append":[{"source":"data:,more"}]},{"path":"/d/sub/kept","contents":{"source":"data:,new"}},{"path":"/d/file"}]}}`,
			want: []string{
				"no file /d/file/in", "no file /d/gone/deep", "no file /d/dir", "no directory /d/file", "no directory /d/gone",
				"directory /d 0755 u0 g0", "directory /d/dir 0755 u0 g0", "file /d/file 0644 u0 g0 =",
				"file /d/log 0644 u0 g0 =more",
				"directory /d/sub 0755 u0 g0", "file /d/sub/kept 0644 u0 g0 =new",
			},
			after: `d /d 0755 0:0
				d /d/dir 0755 0:0
				f /d/file 0644 0:0 =
				f /d/log 0644 0:0 =more
				d /d/sub 0755 0:0
				f /d/sub/kept 0644 0:0 =new`,
		},
		"overwrite replaces a file and a link": {
			tree: `f /d =x
				l /e 5:6 =/d`,
			config: `{"storage":{"directories":[{"path":"/d","overwrite":true},{"path":"/e","overwrite":true}]}}`,
			want:   []string{"no file /d", "no link /e", "directory /d 0755 u0 g0", "directory /e 0755 u0 g0"},
			after: `d /d 0755 0:0
				d /e 0755 0:0`,
		},
		"on a host that joins overwrite leaves a directory's contents": {
			runningHost: true,
			tree: `d /d 0700 5:6
				f /d/f =x`,
			config: `{"storage":{"directories":[{"path":"/d","overwrite":true,"mode":493}]}}`,
			want:   []string{"directory /d 0755"},
			after: `d /d 0755 5:6
				f /d/f 0644 0:0 =x`,
		},
	} {
		t.Run(name, c.check)
	}
}
