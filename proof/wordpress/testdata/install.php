<?php
// Installs WordPress and fills it. Prints the IDs of what is gated, as JSON. The word zanzibar is in gated text only.
const WP_INSTALLING = true;
$_SERVER["HTTP_HOST"] = parse_url(getenv("SITE"), PHP_URL_HOST) . ":" . parse_url(getenv("SITE"), PHP_URL_PORT);
require getenv("DIR") . "/wp-load.php";
require ABSPATH . "wp-admin/includes/upgrade.php";
wp_install("Forum", "admin", "admin@example.invalid", true, "", "a passphrase 1");
update_option("siteurl", getenv("SITE"));
update_option("home", getenv("SITE"));
update_option("posts_per_page", 50);
update_option("posts_per_rss", 50);
update_option("comment_moderation", 0);
update_option("comment_previously_approved", 0);
update_option("thread_comments", 1);
switch_theme("twentytwentyone");
$GLOBALS["wp_rewrite"]->set_permalink_structure("/%year%/%monthnum%/%day%/%postname%/");
do_action("init");

function post(array $of): int
{
    $id = wp_insert_post($of + ["post_status" => "publish", "post_author" => 1, "comment_status" => "open"], true);
    return is_wp_error($id) ? throw new Exception($id->get_error_message()) : $id;
}

function termID(string $taxonomy, string $name, int $parent = 0): int
{
    return wp_insert_term($name, $taxonomy, ["parent" => $parent, "description"
        => "All about zanzibar: $name."])["term_id"];
}
$cat = termID("category", "Wine");
$child = termID("category", "Red", $cat);
$goods = termID("product_cat", "Bottles");
$tag = wp_insert_term("strong", "post_tag")["term_id"];
$text = ["post_content" => "A zanzibar text, and more words of it.", "post_excerpt" => "A zanzibar excerpt."];
$post = post(["post_title" => "Zanzibar post", "post_name" => "red-wine", "post_category" => [$child]] + $text);
wp_set_post_terms($post, ["strong"], "post_tag");
$page = post(["post_title" => "Cellar", "post_name" => "cellar", "post_type" => "page"] + $text);
$sub = post(["post_title" => "Vault", "post_name" => "vault", "post_type" => "page", "post_parent" => $page] + $text);
$product = post(["post_title" => "Zanzibar bottle", "post_name" => "bottle", "post_type" => "product"] + $text);
wp_set_object_terms($product, [$goods], "product_cat");
$variation = post(["post_title" => "Zanzibar small", "post_type" => "product_variation", "post_parent"
    => $product] + $text);
$free = post(["post_title" => "Open news", "post_name" => "open-news", "post_content" => "Open to all.\n\n"
    . get_permalink($post) . "\n\n[embed]" . get_permalink($product) . "[/embed]"]);
$freePage = post(["post_title" => "Imprint", "post_name" => "imprint", "post_type" => "page", "post_content"
    => "Open imprint."]);
$picture = wp_insert_attachment(["post_title" => "Zanzibar picture", "post_name" => "red-picture", "post_mime_type"
    => "image/png",
    "post_status" => "inherit", "guid" => getenv("SITE") . "/x.png"] + $text, "2026/01/x.png", $post);
$comments = [];
foreach ([$post, $page, $product, $picture] as $on) {
    $comments[$on] = wp_insert_comment(["comment_post_ID" => $on, "comment_content" => "A zanzibar comment.",
        "comment_author" => "Reader", "comment_approved" => 1]);
}
foreach (["member", "elder"] as $name) {
    wp_insert_user(["user_login" => $name, "user_pass" => "a passphrase 1", "user_email" => "$name@example.invalid",
        "role" => "subscriber"]);
}
update_option("sidebars_widgets", ["sidebar-1" => ["block-1", "recent-posts-1", "recent-comments-1"],
    "array_version" => 3]);
update_option("widget_block", [1 => ["content"
    => '<!-- wp:latest-posts {"displayPostContent":true} /--><!-- wp:latest-comments /-->'],
    "_multiwidget" => 1]);
update_option("widget_recent-posts", [1 => ["title" => ""], "_multiwidget" => 1]);
update_option("widget_recent-comments", [1 => ["title" => ""], "_multiwidget" => 1]);
$taxonomy = fn(int $id): int => get_term($id)->term_taxonomy_id;
$made = json_encode(compact("post", "page", "sub", "product", "variation", "free", "freePage", "picture",
    "comments", "cat", "child", "goods",
    "tag") + ["terms" => [$taxonomy($cat), $taxonomy($goods)]]);
flush_rewrite_rules();
wp_set_current_user(1);
// Staff look first: what they see is kept with the post.
$GLOBALS["post"] = get_post($free);
$GLOBALS["wp_embed"]->run_shortcode($GLOBALS["wp_embed"]->autoembed(get_post($free)->post_content));
echo $made;
