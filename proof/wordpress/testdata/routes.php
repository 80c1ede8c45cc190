<?php
// Prints every address by which WordPress's rewrite rules, query variables and REST routes may show what is gated.
$_SERVER["HTTP_HOST"] = parse_url(getenv("SITE"), PHP_URL_HOST) . ":" . parse_url(getenv("SITE"), PHP_URL_PORT);
require getenv("DIR") . "/wp-load.php";
$ids = json_decode(getenv("IDS"), true);
$date = explode("-", get_post($ids["post"])->post_date);
[$year, $month, $day] = [$date[0], $date[1], substr($date[2], 0, 2)];

/** What a query variable may be, so that it leads to what is gated. */
$values = [
    "p" => [$ids["post"], $ids["page"], $ids["product"], $ids["picture"]], "page_id" => [$ids["page"], $ids["sub"],
        $ids["post"]],
    "attachment_id" => [$ids["picture"]], "name" => ["red-wine", "bottle", "cellar"], "pagename" => ["cellar",
        "cellar/vault"],
    "attachment" => ["red-picture"], "product" => ["bottle"], "product_cat" => ["bottles"], "category_name"
        => ["wine", "wine/red", "red"],
    "cat" => [$ids["cat"], $ids["child"]], "tag" => ["strong"], "tag_id" => [$ids["tag"]], "s" => ["words"], "year"
        => [$year],
    "monthnum" => [$month], "day" => [$day], "m" => [$year . $month], "author" => [1], "author_name" => ["admin"],
        "w" => [(int) date("W")],
    "feed" => ["feed", "rdf", "rss", "rss2", "atom", "comments-rss2"], "post_type" => ["product", "post", "page",
        "attachment", "any"],
    "taxonomy" => ["category&term=red", "product_cat&term=bottles"], "rest_route" => ["/wp/v2/posts"], "sitemap"
        => ["posts", "taxonomies", "index"],
    "sitemap-subtype" => ["post", "page", "product", "category"], "subpost" => ["red-picture"], "subpost_id"
        => [$ids["picture"]],
    "posts" => [50], "order" => ["asc"], "orderby" => ["title"], "error" => [""], "term" => ["red"], "embed"
        => ["true"], "title" => ["x"],
];
$given = fn(string $name): array => $values[$name] ?? [1];
$found = [];

// Rewrite rules: every rule with every value of its variables.
$unmade = [];
foreach ($GLOBALS["wp_rewrite"]->wp_rewrite_rules() as $rule => $query) {
    parse_str(substr($query, strlen("index.php?")), $wanted);
    $paths = [$rule];
    foreach ($wanted as $name => $reference) {
        if (!preg_match('~^\$matches\[(\d+)\]$~', $reference, $m)) {
            continue;
        }
        $next = [];
        foreach ($paths as $path) {
            foreach ($name === "feed" ? ["rss2", "atom"] : $given($name) as $value) {
                $next[] = [$path, (int) $m[1], $value];
            }
        }
        $paths = $next;
        // Groups are replaced from the outside, so marks stand for them until all are known.
        $paths = array_map(fn($p) => is_array($p) ? mark($p[0], $p[1], (string) $p[2]) : $p, $paths);
    }
    $made = false;
    foreach ($paths as $path) {
        $path = plain($path);
        if (preg_match("#^$rule#", $path)) {
            $made = true;
            $found[] = "/" . $path;
        }
    }
    $made || $unmade[] = $rule;
}

/** Puts a value in place of a rule's n-th group, and keeps the number of the others. */
function mark(string $rule, int $n, string $value): string
{
    $seen = 0;
    for ($i = 0; $i < strlen($rule); $i++) {
        if ($rule[$i] === "\\") {
            $i++;
        } elseif ($rule[$i] === "(" && substr($rule, $i + 1, 2) !== "?:" && ++$seen === $n) {
            for ($depth = 0, $end = $i; $end < strlen($rule); $end++) {
                $depth += ["(" => 1, ")" => -1][$rule[$end]] ?? 0;
                if ($depth === 0) {
                    return substr($rule, 0, $i) . "(<" . bin2hex($value) . ">)" . substr($rule, $end + 1);
                }
            }
        }
    }
    return $rule;
}

/** Makes a path of a rule: what is no variable is left out, or gets a value that fits. */
function plain(string $rule): string
{
    $rule = str_replace(["([a-z\d_-]+?)", "([a-z]+?)", "(\d+?)", '\.', "/?$", "(.?.+?)", ".?.+?", "[^/]+",
        "[0-9]{4}", "(?:", "(.*)", ".*", "$"],
        ["x", "x", "1", ".", "/", "cellar", "cellar", "red-wine", $GLOBALS["year"], "(", "", "", ""], ltrim($rule,
            "^"));
    $rule = preg_replace('~/\[0-9\]\{1,2\}(?=/.*/\[0-9\]\{1,2\}/)~', "/$GLOBALS[month]", $rule);
    $rule = preg_replace('~/\[0-9\]\{1,2\}(?=/)~', "/$GLOBALS[day]", $rule);
    $rule = preg_replace('~\((\w+)(\|\w+)+\)~', '$1', $rule);
    $rule = preg_replace('~\((/?)\(<([0-9a-f]*)>\)/?\)\??~', '$1<$2>', $rule);
    $rule = preg_replace_callback('~\(?<([0-9a-f]*)>\)?~', fn($m) => hex2bin($m[1]), $rule);
    $rule = preg_replace('~\(\|[^()]*\)|\([^()]*\)\?|\([^()]*\)~', "", $rule);
    return str_replace("?", "", $rule);
}

// Query variables, alone and with those that change what answers.
foreach ($GLOBALS["wp"]->public_query_vars as $name) {
    foreach ($given($name) as $value) {
        foreach (["", "&feed=atom&withcomments=1", "&post_type=any"] as $more) {
            $found[] = "/?$name=" . $value . $more;
        }
    }
    $found[] = "/imprint/?$name=" . $given($name)[0];
}

// REST: every route that is read, with the numbers of what is gated, by path and by a parameter.
wp_set_current_user(1);
foreach (rest_get_server()->get_routes() as $route => $handlers) {
    $read = array_filter($handlers, fn($handler) => isset($handler["methods"]["GET"]));
    if ($read === []) {
        continue;
    }
    $numbers = str_contains($route, "/comments") ? array_values($ids["comments"])
        : [$ids["post"], $ids["page"], $ids["product"], $ids["picture"], $ids["cat"], $ids["goods"], 1];
    foreach ($numbers as $number) {
        $path = preg_replace('~\(\?P<(?:id|parent)>(?:\[[^]]*\]|[^()\[\]])*\)~', (string) $number, $route);
        if (str_contains($path, "(")) {
            continue 2; // templates, plug-ins and the like, which are for staff
        }
        $found[] = "/?rest_route=$path";
        $found[] = "/wp-json$path?_embed=1";
        if ($path === $route) {
            array_push($found, "/wp-json$path?search=words", "/wp-json$path?slug=red-wine,bottle,cellar",
                "/wp-json$path?include=$number",
                "/wp-json$path?post=$number", "/wp-json$path?context=embed&per_page=100",
                    "/wp-json$path?parent={$ids["post"]}");
        } else {
            $found[] = "/wp-json" . preg_replace('~/\d+(?=/|$)~', "/99999", $path) . "?id=$number";
        }
    }
}
foreach ([get_permalink($ids["post"]), get_permalink($ids["product"]), get_permalink($ids["page"]), "/?p="
    . $ids["post"],
    "/?page_id=" . $ids["page"], get_attachment_link($ids["picture"])] as $address) {
    foreach (["", "&format=xml"] as $format) {
        $address = str_starts_with($address, "/") ? getenv("SITE") . $address : $address;
        $found[] = "/wp-json/oembed/1.0/embed?url=" . rawurlencode($address) . $format;
    }
}
array_push($found, get_attachment_link($ids["picture"]), "/wp-admin/admin-ajax.php?action=things",
    "/wp-admin/admin-post.php?action=things",
    "/wp-json/things/v1/all", "/?wc-ajax=list", "/open-news", "/wp-links-opml.php", "/wp-trackback.php?p="
        . $ids["post"],
    "/" . date("Y/m/d") . "/open-news/", get_permalink($ids["free"]));
$found = array_map(fn($one) => str_replace(getenv("SITE"), "", $one), $found);
$found = array_map(fn($one) => "/" . ltrim($one, "/"), $found);
echo json_encode(["found" => array_values(array_unique($found)), "unmade" => $unmade]);
