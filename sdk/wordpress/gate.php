<?php
// What needs a pass, and every way by which WordPress would show it.
declare(strict_types=1);

namespace Agegate\WordPress;

/** Whether anything is gated. */
function active(): bool
{
    return setting("whole") || array_filter([setting("types"), setting("posts"), setting("terms")]) !== [];
}

/** Whether this request may see everything: with a pass, as staff, or as a job of the site, which shows nothing. */
function holds(): bool
{
    static $known = [];
    if (!active() || !did_action("plugins_loaded")) { // before, nobody is known
        return !active();
    }
    $job = wp_doing_cron() || defined("WP_CLI")
        || wp_doing_ajax() && ($_REQUEST["action"] ?? "") === "as_async_request_queue_runner";
    return $job || ($known[get_current_blog_id() . "-" . get_current_user_id()]
        ??= current_user_can("edit_posts") || hasPass());
}

/** Adds to the IDs what hangs below them, by a query for the next level. */
function below(array $ids, string $query): array
{
    for ($level = $ids; $level !== []; $ids = array_merge($ids, $level)) {
        $next = array_map("intval", $GLOBALS["wpdb"]->get_col(sprintf($query, implode(",", $level))));
        $level = array_values(array_diff($next, $ids));
    }
    return $ids;
}

/** What the owner has chosen: posts and terms with all below them, and types. */
function rules(): array
{
    global $wpdb;
    static $rules = []; // by site: in a network, one shows what others have
    $site = get_current_blog_id();
    if (isset($rules[$site])) {
        return $rules[$site];
    }
    $made = [
        "types" => setting("whole") ? array_values(array_filter(get_post_types(), "is_post_type_viewable"))
            : setting("types"),
        "posts" => setting("whole") ? [] : below(setting("posts"),
            "SELECT ID FROM $wpdb->posts WHERE post_parent IN (%s)"),
        "terms" => setting("whole") ? [] : below(setting("terms"),
            "SELECT c.term_taxonomy_id FROM $wpdb->term_taxonomy c
            JOIN $wpdb->term_taxonomy p ON c.parent = p.term_id AND c.taxonomy = p.taxonomy
            WHERE p.term_taxonomy_id IN (%s)"),
    ];
    return did_action("init") ? $rules[$site] = $made : $made; // types are not all known before
}

/** A condition in SQL: the post whose ID is in a column is gated, or belongs to one as its picture or variation. */
function gated(string $column): string
{
    global $wpdb;
    ["types" => $types, "posts" => $posts, "terms" => $terms] = rules();
    $one = fn(string $alias): string => "$alias.post_type IN ('" . implode("','", array_map("esc_sql", $types)) . "')
        OR $alias.ID IN (" . implode(",", $posts ?: [0]) . ")
        OR $alias.ID IN (SELECT object_id FROM $wpdb->term_relationships
            WHERE term_taxonomy_id IN (" . implode(",", $terms ?: [0]) . "))";
    $free = setting("whole") ? implode(",", setting("free") ?: [0]) : "0";
    return "EXISTS (SELECT 1 FROM $wpdb->posts ag1 LEFT JOIN $wpdb->posts ag2 ON ag2.ID = ag1.post_parent
        LEFT JOIN $wpdb->posts ag3 ON ag3.ID = ag2.post_parent
        WHERE ag1.ID = $column AND (" . $one("ag1") . " OR " . $one("ag2") . " OR " . $one("ag3") . ")
        AND ag1.ID NOT IN ($free) AND NOT (ag1.post_type = 'attachment' AND ag1.post_parent IN ($free)))";
}

/** Whether one post is gated. */
function isGated(int $post): bool
{
    return $post > 0 && (bool) $GLOBALS["wpdb"]->get_var("SELECT " . gated((string) $post));
}

/** A page in place of what was asked for, with the button where a pass would help. */
function page(int $status, string $text): never
{
    unstored();
    status_header($status);
    header("Referrer-Policy: same-origin");
    header("Content-Type: text/html; charset=UTF-8");
    if ($text !== "") {
        $to = $_SERVER["REQUEST_METHOD"] === "GET" && !isset($_GET["agegate"]) ? $_SERVER["REQUEST_URI"] ?? "/"
            : home_url("/");
        require __DIR__ . "/page.php";
    }
    exit;
}

/** Refuses what was asked for. A session that the webhook has settled gives its pass now. */
function refuse(): never
{
    $visit = visit();
    if ($visit !== null && $_SERVER["REQUEST_METHOD"] === "GET" && 1 === (int) $GLOBALS["wpdb"]->get_var(
        $GLOBALS["wpdb"]->prepare("SELECT n FROM " . table() . " WHERE k = %s", "s:" . $visit["s"])) && grant($visit)) {
        go($_SERVER["REQUEST_URI"]);
    }
    /* translators: %d is an age */
    page(403, sprintf(__("This page is for visitors of %d years or older.", "agegate"), setting("age")));
}

/** Narrows a condition of SQL to what is not gated. */
function narrow(string $column): \Closure
{
    return fn($where) => holds() ? $where : $where . " AND NOT " . gated($column);
}

// Lists, search, feeds, sitemaps and widgets. The post of a page of its own is refused below, not left out.
add_action("pre_get_posts", fn($query) => holds() || $query->set("suppress_filters", false), PHP_INT_MAX);
add_filter("posts_where", fn($where, $query) => open() || $query->is_main_query() && $query->is_singular()
    ? $where : narrow($GLOBALS["wpdb"]->posts . ".ID")($where), PHP_INT_MAX, 2);
add_filter("get_previous_post_where", narrow("p.ID"), PHP_INT_MAX);
add_filter("get_next_post_where", narrow("p.ID"), PHP_INT_MAX);
add_filter("getarchives_where", fn($where) => narrow($GLOBALS["wpdb"]->posts . ".ID")($where), PHP_INT_MAX);
add_filter("do_redirect_guess_404_permalink", fn($guess) => $guess && holds());

/** Suspends the filter of queries while a function runs that looks for a gated post by its address. */
function open(?callable $run = null): mixed
{
    static $open = false;
    if ($run === null) {
        return $open;
    }
    $open = true;
    try {
        return $run();
    } finally {
        $open = false;
    }
}

// Comments. Their queries are kept without their SQL, so the gate's have a part of their own.
add_action("pre_get_comments", function ($query): void {
    $query->query_vars["cache_domain"] .= holds() ? "" : "-agegate";
});
add_filter("comments_clauses", function ($clauses) {
    $clauses["where"] = narrow($GLOBALS["wpdb"]->comments . ".comment_post_ID")($clauses["where"] ?: "1=1");
    return $clauses;
}, PHP_INT_MAX);
add_filter("comment_feed_where", fn($where) => narrow($GLOBALS["wpdb"]->comments . ".comment_post_ID")($where),
    PHP_INT_MAX);
add_action("pre_comment_on_post", fn($post) => !holds() && isGated((int) $post) ? refuse() : null);

// The descriptions of gated terms.
add_filter("get_term", function ($term) {
    if ($term instanceof \WP_Term && $term->description !== "" && !holds()
        && (setting("whole") || in_array($term->term_taxonomy_id, rules()["terms"], true))) {
        $term->description = "";
    }
    return $term;
});

/** Whether the request's own page is gated. */
function mainIsGated(\WP_Query $query): bool
{
    if ($query->is_robots() || $query->is_favicon()) {
        return false;
    }
    if (setting("whole") && !$query->is_singular()) {
        return true;
    }
    $of = $query->get_queried_object();
    return $of instanceof \WP_Term && in_array($of->term_taxonomy_id, rules()["terms"], true)
        || $of instanceof \WP_Post_Type && in_array($of->name, rules()["types"], true)
        || $of instanceof \WP_Post && isGated($of->ID)
        || $query->is_singular() && array_filter($query->posts ?? [], fn($post) => isGated($post->ID)) !== [];
}

// Before all that answers, such as WooCommerce's ?wc-ajax. With a pass, no cache may keep the answer either.
add_action("template_redirect", function (): void {
    match (true) {
        !active() => null,
        holds() => unstored(),
        mainIsGated($GLOBALS["wp_query"]) => refuse(),
        default => null,
    };
}, PHP_INT_MIN);
add_filter("nocache_headers", fn($headers) => ["Cache-Control" => "private, no-store"] + $headers);

// admin-ajax and admin-post: what plug-ins answer there, nobody can look through.
add_action("admin_init", function (): void {
    $action = $_REQUEST["action"] ?? "";
    if (in_array($GLOBALS["pagenow"], ["admin-ajax.php", "admin-post.php"], true) && !holds()
        && !in_array($action, ["heartbeat", ...setting("ajax")], true)) {
        refuse();
    }
}, PHP_INT_MIN);

// REST, when the route and its parameters are known: before, ?id= would still name another post than the path.
add_filter("rest_request_before_callbacks", function ($response, $handler, $request) {
    if (holds() || is_wp_error($response) || str_starts_with($request->get_route(), "/agegate/")) {
        return $response;
    }
    $free = array_filter(["wp/v2", "oembed/1.0", "batch/v1", "wc/store", ...setting("rest")],
        fn($name) => str_starts_with($request->get_route() . "/", "/$name/"));
    $by = is_array($handler["callback"] ?? null) ? $handler["callback"][0] : null;
    $ids = [$request["post"]];
    foreach ([$request, $request->get_url_params()] as $params) {
        array_push($ids, ...match (true) {
            $by instanceof \WP_REST_Terms_Controller, $by instanceof \WP_REST_Users_Controller => [],
            $by instanceof \WP_REST_Comments_Controller
                => [get_comment((int) ($params["id"] ?? 0))->comment_post_ID ?? 0],
            default => [$params["id"] ?? 0, $params["parent"] ?? 0],
        });
    }
    $ids = array_map("intval", array_filter($ids, "is_scalar"));
    if (setting("whole") || $request->get_route() !== "/" && $free === [] || array_filter($ids, isGated(...)) !== []) {
        return new \WP_Error("agegate", __("This needs a pass of the age check.", "agegate"), ["status" => 403]);
    }
    return $response;
}, PHP_INT_MAX, 3);
add_filter("rest_post_dispatch", function ($response) {
    if (active() && (holds() || $response->get_status() === 403)) {
        $response->header("Cache-Control", "private, no-store");
    }
    return $response;
}, PHP_INT_MAX);

// oEmbed: what others are told, and what was kept in a page by whoever looked first.
add_filter("oembed_response_data", fn($data, $post) => !holds() && isGated($post->ID) ? false : $data, PHP_INT_MAX, 2);
add_filter("embed_oembed_html", fn($html, $url) => !holds() && isGated(open(fn() => url_to_postid($url)))
    ? '<a href="' . esc_url($url) . '">' . esc_html($url) . "</a>" : $html, PHP_INT_MAX, 2);

/** What a shop tells a visitor who must not buy, or "". */
function cartRefusal(): string
{
    if (holds() || !function_exists("WC")) {
        return "";
    }
    foreach (WC()->cart->get_cart() as $item) {
        if (isGated((int) $item["product_id"])) {
            return __("Something in your basket needs an age check first. Open its page to begin.", "agegate");
        }
    }
    return "";
}
add_action("woocommerce_checkout_process", fn() => cartRefusal() === "" ?: wc_add_notice(cartRefusal(), "error"));
add_action("woocommerce_store_api_cart_errors", fn($errors) => cartRefusal() === "" ?: $errors->add("agegate",
    cartRefusal()));
