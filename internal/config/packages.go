package config

import "regexp"

// isRelease reports whether text is an OpenShift release such as 4.18 or 4.18.9.
func isRelease(text string) bool {
	return regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`).MatchString(text)
}
