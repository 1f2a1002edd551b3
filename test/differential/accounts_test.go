// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import "testing"

func TestAccounts(t *testing.T) { runAll(t, accounts()) }

func accounts() []scenario {
	passwd := func(sections string) string { return spec("3.4.0", `"passwd":{`+sections+`}`) }
	scenarios := []scenario{
		{name: "a user", config: passwd(`"users":[{"name":"new"}]`)},
		{
			name: "a user with all",
			config: passwd(`"groups":[{"name":"team","gid":2000}],
				"users":[{"name":"new","uid":1500,"gecos":"A New User","homeDir":"/var/lib/new","primaryGroup":"team",
				"groups":["wheel","staff"],"shell":"/bin/sh","passwordHash":"$6$salt$hash",
				"sshAuthorizedKeys":["ssh-ed25519 AAAA one","ssh-ed25519 BBBB two"]}]`),
		},
		{
			name: "a system user",
			config: passwd(`"users":[{"name":"new","system":true,"noCreateHome":true,"noLogInit":true,
				"shell":"/sbin/nologin"}]`),
		},
		{name: "a user without a group of its own", config: passwd(`"users":[{"name":"new","noUserGroup":true,"uid":1600}]`)},
		{name: "a user with an empty hash", config: passwd(`"users":[{"name":"new","passwordHash":""}]`)},
		{
			name:   "keys for an existing user",
			config: passwd(`"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA core"]}]`),
		},
		{
			name: "keys replace keys",
			tree: []Node{
				{Path: "/home/core/.ssh/", Mode: 0o700, UID: 1000, GID: 1000},
				{Path: "/home/core/.ssh/authorized_keys", Content: "old\n", Mode: 0o644, UID: 1000, GID: 1000},
			},
			config: passwd(`"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA core"]}]`),
		},
		{name: "keys for root", config: passwd(`"users":[{"name":"root","sshAuthorizedKeys":["ssh-ed25519 AAAA root"]}]`)},
		{
			name: "a user is changed",
			config: passwd(`"users":[{"name":"core","gecos":"Core","shell":"/bin/sh","groups":["wheel"],
				"passwordHash":"$6$salt$other"}]`),
		},
		{name: "a user gets a uid", config: passwd(`"users":[{"name":"core","uid":1700}]`)},
		{
			name:   "a user moves",
			tree:   []Node{{Path: "/var/home/"}},
			config: passwd(`"users":[{"name":"core","homeDir":"/var/home/core"}]`),
		},
		{
			name:     "a user moves to where nothing is",
			config:   passwd(`"users":[{"name":"core","homeDir":"/var/home/core"}]`),
			bothFail: "/var/home",
		},
		{
			name:     "a user moves to where something is",
			tree:     []Node{{Path: "/var/home/core/other"}},
			config:   passwd(`"users":[{"name":"core","homeDir":"/var/home/core"}]`),
			bothFail: "/var/home/core",
		},
		{name: "a user loses its password", config: passwd(`"users":[{"name":"core","passwordHash":""}]`)},
		{name: "a user goes", config: passwd(`"users":[{"name":"core","shouldExist":false}]`)},
		{name: "removal of a missing user", config: passwd(`"users":[{"name":"nobody","shouldExist":false}]`)},
		{name: "a user stays", config: passwd(`"users":[{"name":"core","shouldExist":true}]`)},
		{
			name: "a group",
			config: passwd(`"groups":[{"name":"team"},{"name":"daemons","system":true},
				{"name":"named","gid":2222,"passwordHash":"$6$salt$hash"}]`),
		},
		{name: "a group is changed", config: passwd(`"groups":[{"name":"staff","gid":51,"passwordHash":"$6$salt$hash"}]`)},
		{name: "a group goes", config: passwd(`"groups":[{"name":"staff","shouldExist":false}]`)},
		{name: "removal of a missing group", config: passwd(`"groups":[{"name":"nothing","shouldExist":false}]`)},
		{
			name:     "a group that is a user's primary one",
			config:   passwd(`"groups":[{"name":"core","shouldExist":false}]`),
			bothFail: "core",
		},
		{
			name:     "a missing primary group",
			config:   passwd(`"users":[{"name":"new","primaryGroup":"nothing"}]`),
			bothFail: "nothing",
		},
		{name: "a uid that is taken", config: passwd(`"users":[{"name":"new","uid":1000}]`), bothFail: "1000"},
		{name: "a gid that is taken", config: passwd(`"groups":[{"name":"new","gid":1000}]`), bothFail: "1000"},
		{
			name: "a file of a new user",
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"new"}],"groups":[{"name":"team"}]},
					"storage":{"files":[{"path":"/home/new/file","user":{"name":"new"},"group":{"name":"team"},
					"contents":{"source":"data:,x"}}]}`),
		},
		{
			name: "an error after a new user",
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"new"}],"groups":[{"name":"team"}]},
					"storage":{"files":[{"path":"/etc/passwd","contents":{"source":"data:,x"}}]}`),
			bothFail: "/etc/passwd",
		},
		{
			name: "an error after a user has gone",
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"core","shouldExist":false}]},
					"storage":{"files":[{"path":"/etc/passwd","contents":{"source":"data:,x"}}]}`),
			bothFail: "/etc/passwd",
		},
		{name: "a user gets another group", config: passwd(`"users":[{"name":"core","primaryGroup":"wheel"}]`)},
		{
			name: "an error after a user got another group",
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"core","primaryGroup":"wheel"},
					{"name":"new","noCreateHome":true,"sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]}`),
			bothFail: "SSH keys",
		},
		{
			name: "an error after a user got another number",
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"core","uid":1700},
					{"name":"new","noCreateHome":true,"sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]}`),
			bothFail: "SSH keys",
		},
		{
			name: "an error after a user moved",
			tree: []Node{{Path: "/var/home/"}},
			config: spec("3.4.0",
				`"passwd":{"users":[{"name":"core","homeDir":"/var/home/core"},
					{"name":"new","noCreateHome":true,"sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]}`),
			bothFail: "SSH keys",
		},
		{name: "no name", config: passwd(`"users":[{"name":""}]`), bothFail: "name"},
		{
			name:      "an unknown owner",
			firstBoot: true,
			config:    storage(`"files":[{"path":"/etc/new","user":{"name":"unheard"}}]`),
			bothFail:  "unheard",
		},
		{
			name:      "an unknown group",
			firstBoot: true,
			config:    storage(`"files":[{"path":"/etc/new","group":{"name":"unheard"}}]`),
			bothFail:  "unheard",
		},
	}
	for i := range scenarios {
		scenarios[i].firstBoot = true
	}
	return scenarios
}
