package reference

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// target is the address of a link in Markdown.
var target = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// unpublished matches a link to a file that comes with the program but is not a page
// here.
var unpublished = regexp.MustCompile(
	`\[([^\]]+)\]\((?:(?:\.\./)+(?:deploy/|NOTICE)|` +
		`(?:\.\./)?(?:availability|document-measurements|evidence\.de|measurements|scale|wallets)\.md)[^)\s]*\)`)

// localLinks rewrites the links of a document from one file of the repository to
// another, such as ../compatibility.md or door/nginx.conf, as links to pages and
// attachments. An unpublished link becomes its text. It fails if a link leads nowhere.
func localLinks(source string) (string, error) {
	var wrong error
	linked := unpublished.ReplaceAllString(source, "$1")
	rewritten := target.ReplaceAllStringFunc(linked, func(match string) string {
		address := target.FindStringSubmatch(match)[1]
		if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "/") || strings.HasPrefix(address, "#") {
			return match
		}
		file, _, found := strings.Cut(address, "#")
		for _, guide := range guides {
			if path.Base(guide.file) != path.Base(file) {
				continue
			}
			return "](" + Path + "/" + guide.name + ".md" + strings.TrimPrefix(address, file) + ")"
		}
		for _, attachment := range attachments() {
			if path.Base(attachment) == path.Base(file) && !found {
				return "](" + Path + "/" + strings.TrimPrefix(attachment, guidesFolder) + ")"
			}
		}
		wrong = fmt.Errorf("the link to %s leads to no page", address)
		return match
	})
	return rewritten, wrong
}
