package wordpress

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// blocks is the template of every page of a theme of blocks, which asks for posts by itself.
const blocks = `<!-- wp:page-list /--><!-- wp:query {"query":{"inherit":true}} --><div class="wp-block-query">
<!-- wp:post-template --><!-- wp:post-title /--><!-- wp:post-content /--><!-- wp:post-excerpt /-->
<!-- /wp:post-template --></div><!-- /wp:query -->`

// lists are blocks that show posts beside the page's own.
const lists = `<!-- wp:query {"query":{"perPage":50,"postType":"%s","inherit":false}} --><div class="wp-block-query">
<!-- wp:post-template --><!-- wp:post-content /--><!-- wp:post-excerpt /--><!-- /wp:post-template --></div>
<!-- /wp:query --><!-- wp:latest-posts {"displayPostContent":true} /--><!-- wp:latest-comments /-->`

// testBlocks: a theme of blocks shows gated text with a pass only.
func testBlocks(t *testing.T, s *site) {
	templates := filepath.Join(s.dir, "wp-content", "themes", "blocks", "templates")
	if err := os.MkdirAll(templates, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(templates), "style.css"), "/* Theme Name: Blocks */")
	write(t, filepath.Join(filepath.Dir(templates), "theme.json"), `{"version":2}`)
	write(t, filepath.Join(templates, "index.html"), blocks)
	write(t, filepath.Join(templates, "404.html"), fmt.Sprintf(lists, "product"))
	write(t, filepath.Join(templates, "page.html"), blocks+fmt.Sprintf(lists, "post"))
	s.wp(t, `switch_theme("blocks");`)
	defer s.wp(t, `switch_theme("twentytwentyone");`)
	addresses := []string{"/", "/nowhere", "/imprint/", "/cellar/", "/cellar/vault/", "/category/wine/",
		"/?s=text", "/feed/",
		fmt.Sprintf("/?p=%d", s.ids.Post), fmt.Sprintf("/?p=%d", s.ids.Product)}
	if shown := s.visitor(t).showing(addresses); len(shown) != 0 {
		t.Errorf("without a pass, %q are shown", shown)
	}
	adult := s.visitor(t)
	adult.pass()
	if shown := adult.showing(addresses); len(shown) != len(addresses) {
		t.Errorf("with a pass, only %q of %q are shown", shown, addresses)
	}
}
