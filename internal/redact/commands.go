// SPDX-License-Identifier: Apache-2.0

package redact

import "regexp"

var (
	// loginCommand matches a command whose -p or -P takes a password, up to the password.
	loginCommand = regexp.MustCompile(`(\b(?:mysql[a-z]*|mariadb[a-z-]*|sshpass|ipmitool|(?:podman|docker|buildah|skopeo|oc|helm) login)\b[^\n;|&]*?[ \t]-[pP][ \t=]?["']?)([^\s"'=-][^\s"']*)`)
	// shortFlag matches -p=VALUE. Published ports and directories are not secrets.
	shortFlag = regexp.MustCompile(`((?:^|\s)-p=["']?)([^\s"']+)`)
	notSecret = regexp.MustCompile(`^(?:[0-9.:\[\]/-]+(?:tcp|udp|sctp)?|[./~$].*)$`)
	// netrc matches "login NAME password SECRET" of a .netrc, possibly over several lines,
	// or a line with only a password. In a PAM configuration more words follow.
	netrc = regexp.MustCompile(`(?m)(\blogin\s+\S+\s+(?:account\s+\S+\s+)?password[ \t]+|^[ \t]*password[ \t]+)(\S+)([ \t\r]*(?:$|macdef\b|machine\b))`)
)

// maskCommands masks passwords in commands and .netrc files, where no name with an equals sign
// precedes them.
func maskCommands(text string) string {
	text = loginCommand.ReplaceAllString(text, "${1}"+Mask)
	text = shortFlag.ReplaceAllStringFunc(text, func(match string) string {
		part := shortFlag.FindStringSubmatch(match)
		if notSecret.MatchString(part[2]) {
			return match
		}
		return part[1] + Mask
	})
	return netrc.ReplaceAllString(text, "${1}"+Mask+"${3}")
}
