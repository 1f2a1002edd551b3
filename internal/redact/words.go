// SPDX-License-Identifier: Apache-2.0

package redact

import "regexp"

var (
	// spacedSecret matches a setting whose value follows after a space, up to the value: a community of
	// SNMP, a key of WireGuard, a password of iSCSI, a password in a sentence.
	spacedSecret = regexp.MustCompile(`(?i)(\br[ow]community6?[ \t]+["']?|\b(?:private|preshared)-key[ \t]+["']?|` +
		`\b[a-z0-9_.-]*\.(?:secret|password|passwd|passphrase)[ \t]+["']?|\b(?:password|passphrase|passcode|passwort|kennwort) (?:is|ist):?[ \t]+["']?)([^\s"'=]{4,})`)
	// plainWords matches words of a sentence, paths, options and variables, which are not secrets.
	plainWords = regexp.MustCompile(`^(?:[A-Za-z]+(?:[-'][A-Za-z]+)*[.,:;!?)]*|[0-9]+[.,:;)]*|[/$-].*)$`)
	// tokenWord matches a UUID that is the token of user data or another token. Other UUIDs identify
	// pods, connections and disks.
	tokenWord = regexp.MustCompile(`(?i)(\btoken[ \t]+["']?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	// serviceToken matches keys of AWS and tokens of Slack.
	serviceToken = regexp.MustCompile(`\b(?:A[KS]IA[A-Z0-9]{16}|xox[a-z]-[A-Za-z0-9-]{10,})`)
)

// maskWords masks secrets that follow a word without a separator, and tokens with a known beginning.
func maskWords(text string) string {
	text = spacedSecret.ReplaceAllStringFunc(text, func(match string) string {
		part := spacedSecret.FindStringSubmatch(match)
		if plainWords.MatchString(part[2]) {
			return match
		}
		return part[1] + Mask
	})
	text = tokenWord.ReplaceAllString(text, "${1}"+Mask)
	return serviceToken.ReplaceAllString(text, Mask)
}
