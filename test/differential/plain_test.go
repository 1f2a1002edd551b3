// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

// plainTree returns the initial tree of every scenario, with the accounts and units of an image.
func plainTree() []Node {
	return []Node{
		{
			Path: "/etc/passwd",
			Content: "root:x:0:0:root:/root:/bin/bash\nbin:x:1:1:bin:/bin:/sbin/nologin\n" +
				"core:x:1000:1000::/home/core:/bin/bash\n",
		},
		{Path: "/etc/group", Content: "root:x:0:\nbin:x:1:\nwheel:x:10:\nadm:x:4:\ncore:x:1000:\nstaff:x:50:core\n"},
		{
			Path:    "/etc/shadow",
			Content: "root:*:19000:0:99999:7:::\nbin:*:19000:0:99999:7:::\ncore:!!:19000:0:99999:7:::\n",
			Mode:    0o600,
		},
		{Path: "/etc/gshadow", Content: "root:::\nbin:::\nwheel:::\nadm:::\ncore:!::\nstaff:!::core\n", Mode: 0o600},
		{Path: "/etc/subuid", Content: "core:100000:65536\n"},
		{Path: "/etc/subgid", Content: "core:100000:65536\n"},
		{Path: "/etc/login.defs", Content: loginDefs},
		{
			Path:    "/etc/default/useradd",
			Content: "GROUP=100\nHOME=/home\nINACTIVE=-1\nEXPIRE=\nSHELL=/bin/bash\nSKEL=/etc/skel\nCREATE_MAIL_SPOOL=no\n",
		},
		{Path: "/etc/skel/.bashrc", Content: "# a skeleton\n"},
		// Debian's useradd creates all of them with mode 0700, because its fchmodat needs /proc
		// in the root.
		{Path: "/etc/skel/sub/", Mode: 0o700},
		{Path: "/home/core/", Mode: 0o700, UID: 1000, GID: 1000},
		{Path: "/home/core/note", Content: "core's\n", UID: 1000, GID: 1000},
		{Path: "/bin/"}, // the home directory of a user
		{Path: "/root/", Mode: 0o550},
		{Path: "/var/lib/"},
		{Path: "/etc/systemd/system/"},
		{Path: "/usr/lib/systemd/system/there.service", Content: unitText},
		{Path: "/usr/lib/systemd/system/many@.service", Content: unitText},
		{Path: "/usr/lib/systemd/system/multi-user.target", Content: "[Unit]\nDescription=all\n"},
	}
}

const unitText = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"

const loginDefs = `MAIL_DIR /var/spool/mail
PASS_MAX_DAYS 99999
PASS_MIN_DAYS 0
PASS_WARN_AGE 7
UID_MIN 1000
UID_MAX 60000
SYS_UID_MIN 201
SYS_UID_MAX 999
GID_MIN 1000
GID_MAX 60000
SYS_GID_MIN 201
SYS_GID_MAX 999
CREATE_HOME yes
USERGROUPS_ENAB yes
HOME_MODE 0700
UMASK 022
ENCRYPT_METHOD SHA512
`
