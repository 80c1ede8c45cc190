<?php
// A product type, a basket and other plug-ins' ways to show products, as WooCommerce and its likes have them.
add_action("init", function (): void {
    register_taxonomy("product_cat", "product", ["public" => true, "hierarchical" => true, "show_in_rest" => true,
        "rewrite" => ["slug" => "product-category", "hierarchical" => true], "label" => "Product categories"]);
    register_taxonomy("product_type", "product", ["public" => false, "label" => "Product types"]);
    register_post_type("product", ["public" => true, "has_archive" => "shop", "show_in_rest" => true, "label"
        => "Products",
        "rewrite" => ["slug" => "product"], "supports" => ["title", "editor", "excerpt", "comments", "thumbnail"],
        "taxonomies" => ["product_cat"]]);
    register_post_type("product_variation", ["public" => false, "label" => "Variations"]);
});

final class Basket
{
    public function get_cart(): array
    {
        return [["product_id" => (int) ($_REQUEST["buy"] ?? 0)]];
    }
}

function WC(): object
{
    return (object) ["cart" => new Basket()];
}

function wc_add_notice(string $text, string $kind): void
{
    $GLOBALS["notices"][] = "$kind: $text";
}

function listed(array $query): string
{
    return implode("\n", array_map(fn($post) => "$post->post_title: $post->post_content",
        get_posts($query + ["numberposts" => 50])));
}

// As ?wc-ajax: before WooCommerce's own hooks on the same action.
add_action("template_redirect", function (): void {
    match ($_GET["wc-ajax"] ?? "") {
        "list" => wp_die(listed(["post_type" => "product"])),
        "checkout" => wp_send_json((function () {
            do_action("woocommerce_checkout_process");
            return $GLOBALS["notices"] ?? ["ordered"];
        })()),
        "blocks" => wp_send_json((function () {
            do_action("woocommerce_store_api_cart_errors", $errors = new WP_Error(), WC()->cart);
            return $errors->get_error_messages() ?: ["ordered"];
        })()),
        default => null,
    };
}, 0);
foreach (["wp_ajax_things", "wp_ajax_nopriv_things", "admin_post_things", "admin_post_nopriv_things"] as $hook) {
    add_action($hook, fn()
        => wp_die($GLOBALS["wpdb"]->get_var("SELECT GROUP_CONCAT(post_content) FROM {$GLOBALS["wpdb"]->posts}")));
}
add_action("rest_api_init", fn() => register_rest_route("things/v1", "/all", ["permission_callback" => "__return_true",
    "callback" => fn() => $GLOBALS["wpdb"]->get_col("SELECT post_content FROM {$GLOBALS["wpdb"]->posts}")]));
add_filter("wp_mail", fn() => ["to" => "nobody@example.invalid", "subject" => "", "message" => "", "headers" => "",
    "attachments" => []]);
add_filter("pre_wp_mail", "__return_true");
