// SPDX-License-Identifier: Apache-2.0

package docblocks

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The overviews describe the same ways as enroll-nodes.md and manage-nodes.md: wherever they name a command that an
// administrator runs on one node, they also name what the controller does for all of them.
func TestOverviewsNameController(t *testing.T) {
	rules := []struct {
		about *regexp.Regexp
		link  string
		count int
	}{
		{regexp.MustCompile("`upgrade`"), "](manage-nodes.md#upgrade-the-nodes)", 3},
		{regexp.MustCompile(`\bCSRs? .*administrator|administrator.*\bCSRs?\b|approval of CSRs`), "controller", 3},
		{regexp.MustCompile(`credentials \|`), "](run-controller.md#publish-the-user-data)", 1},
	}
	for _, page := range []string{"faq.md", "prerequisites.md"} {
		content, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for paragraph := range strings.SplitSeq(strings.ReplaceAll(string(content), "\n|", "\n\n|"), "\n\n") {
			paragraph = strings.ReplaceAll(paragraph, "\n", " ")
			for i := range rules {
				if !rules[i].about.MatchString(paragraph) {
					continue
				}
				rules[i].count--
				if !strings.Contains(paragraph, rules[i].link) {
					t.Errorf("docs/%s does not name %s:\n%s", page, rules[i].link, paragraph)
				}
			}
		}
	}
	for _, rule := range rules {
		if rule.count > 0 {
			t.Errorf("%d statements match %s fewer than expected", rule.count, rule.about)
		}
	}
}
