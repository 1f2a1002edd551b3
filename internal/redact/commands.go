package redact

import "regexp"

var (
	// loginCommand is a command whose -p or -P takes a password, up to the password.
	loginCommand = regexp.MustCompile(`(\b(?:mysql[a-z]*|mariadb[a-z-]*|sshpass|ipmitool|(?:podman|docker|buildah|skopeo|oc|helm) login)\b[^\n;|&]*?[ \t]-[pP][ \t=]?["']?)([^\s"'=-][^\s"']*)`)
	// shortFlag is -p=VALUE; published ports and directories are no secrets.
	shortFlag = regexp.MustCompile(`((?:^|\s)-p=["']?)([^\s"']+)`)
	notSecret = regexp.MustCompile(`^(?:[0-9.:\[\]/-]+(?:tcp|udp|sctp)?|[./~$].*)$`)
	// netrc is "login NAME password SECRET" of a .netrc, perhaps over several lines,
	// or a line of one password. In a PAM configuration more words follow.
	netrc = regexp.MustCompile(`(?m)(\blogin\s+\S+\s+(?:account\s+\S+\s+)?password[ \t]+|^[ \t]*password[ \t]+)(\S+)([ \t\r]*(?:$|macdef\b|machine\b))`)
)

// commands masks passwords that commands and .netrc files have without a name
// and a sign of equality.
func commands(text string) string {
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
