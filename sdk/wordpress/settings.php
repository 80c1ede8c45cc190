<?php
// What the owner sets, and the button that tries it.
declare(strict_types=1);

namespace Agegate\WordPress;

const DEFAULTS = ["url" => "", "key" => "", "redirect" => "", "webhook" => "", "age" => 18, "keep" => 24, "account"
    => 0,
    "members" => [], "whole" => false, "types" => [], "terms" => [], "posts" => [], "free" => [], "limit" => 1000,
    "network" => 50, "ajax" => [], "rest" => []];

/** The smallest and the largest of each number. */
const NUMBERS = ["age" => [13, 99], "keep" => [1, 8760], "account" => [0, 3650], "limit" => [1, 1000000],
    "network" => [1, 1000000]];

/** What a key and each secret look like. */
const SECRETS = ["key" => '~^svc_(test|live)_\S+$~D', "redirect" => '~^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$~D',
    "webhook" => '~^whsec_[A-Za-z0-9+/]{43}=$~D'];

/** Turns a field's words into IDs. A word that means nothing is refused by name: it would gate nothing, unnoticed. */
function ids(string $words, callable $find): array
{
    $ids = [];
    foreach (preg_split('~[\s,]+~', $words, -1, PREG_SPLIT_NO_EMPTY) as $word) {
        $id = (int) $find($word);
        /* translators: %s is what the owner has written */
        $id > 0 ? $ids[] = $id : complain(sprintf(__("Nothing here is called %s.", "agegate"), $word));
    }
    return array_values(array_unique($ids));
}

function complain(string $text): void
{
    add_settings_error("agegate", "agegate", $text);
}

/** Reads the form. What is wrong is said, and keeps its old value. */
function read(mixed $form): array
{
    $old = (get_option("agegate") ?: []) + DEFAULTS;
    if (!is_array($form) || !isset($form["form"])) {
        return is_array($form) ? $form + $old : $old; // not the page's form, but a program or a second pass
    }
    $new = $old;
    $text = fn(string $name): string => is_string($form[$name] ?? null) ? trim($form[$name]) : "";
    $url = rtrim($text("url"), "/");
    preg_match('~^https?://[^/\s]+(/\S*)?$~D', $url) ? $new["url"] = $url
        : complain(__("The gateway's address must begin with https:// or http://.", "agegate"));
    foreach (SECRETS as $name => $form1) {
        if ($text($name) !== "") {
            preg_match($form1, $text($name)) ? $new[$name] = $text($name)
                /* translators: %s is key, redirect or webhook */
                : complain(sprintf(__("The value for %s is damaged. Copy it again.", "agegate"), $name));
        }
    }
    foreach (NUMBERS as $name => [$least, $most]) {
        $new[$name] = max($least, min($most, (int) $text($name)));
    }
    $post = fn(string $word) => ctype_digit($word) ? (get_post((int) $word)->ID ?? 0) : open(fn()
        => url_to_postid($word));
    $errors = count(get_settings_errors("agegate"));
    $lists = [
        "posts" => ids($text("posts"), $post), "free" => ids($text("free"), $post),
        "members" => ids($text("members"), fn($word) => get_user_by(is_email($word) ? "email" : "login",
            $word)->ID ?? 0),
        "terms" => array_map("intval", (array) ($form["terms"] ?? [])),
        "types" => array_values(array_intersect(get_post_types(), (array) ($form["types"] ?? []))),
        "ajax" => preg_split('~[\s,]+~', $text("ajax"), -1, PREG_SPLIT_NO_EMPTY),
        "rest" => preg_split('~[\s,]+~', $text("rest"), -1, PREG_SPLIT_NO_EMPTY),
        "whole" => isset($form["whole"]),
    ];
    return count(get_settings_errors("agegate")) > $errors ? $new : $lists + $new;
}

/** Tries the settings by a test session from its creation to its webhook. Returns what is right and what is wrong. */
function tryOut(): array
{
    $good = fn(string $text): array => [true, $text];
    $bad = fn(string $text): array => [false, $text];
    $host = wp_parse_url(get_option("home"), PHP_URL_HOST);
    if (live()) { // a live pass cannot be forced: a lookup of a session that is none costs nothing
        [$status, $out] = call("GET", "/api/v1/sessions/" . wp_generate_uuid4() . "/status");
        return [$status === 404 && ($out["detail"] ?? "") === "Session not found"
            ? $good(__("The address and the live key are right. The secrets are proved by the first real check only.",
                "agegate"))
            : $bad(sprintf(cause($status), $host))];
    }
    [$status, $made] = call("POST", "/api/v1/sessions/create", ["target_age" => setting("age"),
        "success_url" => add_query_arg("agegate", "return", home_url("/")), "cancel_url" => home_url("/")]);
    if ($status !== 201) {
        return [$bad(sprintf(cause($status), $host) . " (" . $status . " " . wp_json_encode($made["detail"] ?? "")
            . ")")];
    }
    $said = [$good(__("The address, the key and this site's host are right.", "agegate"))];
    $back = wp_remote_get($made["verification_url"] . "?force=verified", ["redirection" => 0]);
    $query = (string) wp_parse_url((string) wp_remote_retrieve_header($back, "location"), PHP_URL_QUERY);
    $said[] = match (true) {
        $query === "" => $bad(__("The gateway's page for visitors does not answer this server.", "agegate")),
        setting("redirect") !== "" && \Agegate\verifyRedirect($query, $made["session_id"], setting("redirect"))
            => $good(__("The redirect secret is right.", "agegate")),
        default => $bad(__("The redirect secret is wrong: take the one of test mode from the page Redirect secret.",
            "agegate")),
    };
    $event = null;
    for ($try = 0; $try < 15 && ($event === null || $event["delivery"] === "pending"
        && ($event["last_class"] ?? null) === null); $try++) {
        $try === 0 || sleep(1);
        $event = call("GET", "/api/v1/test/events?wait=4&session_id=" . $made["session_id"])[1]["events"][0] ?? null;
    }
    $why = __("there is none here", "agegate");
    $verified = setting("webhook") !== "" && $event !== null
        && \Agegate\verifyWebhook($event["headers"], $event["body"], setting("webhook"), $why) !== null;
    /* translators: %s says why, in English */
    $said[] = $verified ? $good(__("The webhook secret is right.", "agegate"))
        : $bad(sprintf(__("The webhook secret is wrong: %s.", "agegate"), $why));
    $said[] = ($event["delivery"] ?? "") === "delivered" ? $good(__("The webhook arrives.", "agegate"))
        /* translators: %s is an address */
        : $bad(sprintf(__("The webhook does not arrive. Its address is %s.", "agegate"), rest_url("agegate/v1/webhook"))
            . " (" . ($event["delivery"] ?? "") . " " . ($event["last_status_code"] ?? "") . ")");
    return $said;
}

/** What a refusal of the gateway means to an owner. %s, where there is one, is this site's host. */
function cause(int $status): string
{
    return match ($status) {
        0 => __("No gateway answers at the address.", "agegate"),
        401 => __("The key is wrong or revoked.", "agegate"),
        402, 403 => __("The gateway refuses this tenant: it is disabled, or has no checks left.", "agegate"),
        /* translators: %s is a host */
        422 => __("The host %s is not registered: add it under Settings, Callback URLs, in the gateway.", "agegate"),
        429 => __("Today's test sessions are used up.", "agegate"),
        default => __("What answers at the address is no gateway.", "agegate"),
    };
}

/** A field of the form. */
function field(string $name, string $label, string $input): void
{
    echo '<tr><th scope="row"><label for="agegate-' . esc_attr($name) . '">' . esc_html($label) . "</label><td>$input";
}

function input(string $name, string $value, string $more = 'type="text" class="regular-text"'): string
{
    return sprintf('<input id="agegate-%1$s" name="agegate[%1$s]" value="%2$s" autocomplete="off" %3$s>', $name,
        esc_attr($value), $more);
}

/** A list of which several can be chosen. */
function choice(string $name, array $labels): string
{
    $options = "";
    foreach ($labels as $value => $label) {
        $options .= '<option value="' . esc_attr((string) $value) . '"'
            . selected(in_array($value, setting($name), true), true, false) . ">" . esc_html($label);
    }
    return sprintf('<select id="agegate-%1$s" name="agegate[%1$s][]" multiple size="6">%2$s</select>', $name, $options);
}

/** The page Settings, Age check. */
function settingsPage(): void
{
    $tried = [];
    if (isset($_POST["try"])) {
        check_admin_referer("agegate-try");
        $tried = tryOut();
    }
    $taxonomies = get_taxonomies(["public" => true]);
    taxonomy_exists("product_type") && $taxonomies[] = "product_type";
    $terms = $types = [];
    foreach (get_terms(["taxonomy" => $taxonomies, "hide_empty" => false]) as $term) {
        $terms[$term->term_taxonomy_id] = get_taxonomy($term->taxonomy)->labels->singular_name . ": " . $term->name;
    }
    foreach (array_filter(get_post_types([], "objects"), "is_post_type_viewable") as $type) {
        $types[$type->name] = $type->labels->name;
    }
    $logins = array_map(fn($id) => get_userdata($id)->user_login ?? "", setting("members"));
    echo '<div class="wrap"><h1>' . esc_html__("Age check", "agegate") . "</h1>";
    if (!live() || !active()) {
        echo '<div class="notice notice-warning"><p>' . esc_html(!active() ? __("Nothing is gated yet.", "agegate")
            : __("This is a test key: every visitor can choose the outcome. Use a live key for visitors.",
                "agegate")) . "</div>";
    }
    foreach ($tried as [$right, $text]) {
        echo '<div class="notice notice-' . ($right ? "success" : "error") . '"><p>' . esc_html($text) . "</div>";
    }
    echo '<form method="post" action="options.php">';
    settings_fields("agegate");
    echo '<input type="hidden" name="agegate[form]" value="1"><table class="form-table">';
    field("url", __("The gateway's address", "agegate"), input("url", setting("url"),
        'type="url" class="regular-text"'));
    foreach (["key" => __("API key", "agegate"), "redirect" => __("Redirect secret", "agegate"),
        "webhook" => __("Webhook secret", "agegate")] as $name => $label) {
        $hint = setting($name) === "" ? "" : __("Stored. Leave it empty to keep it.", "agegate");
        field($name, $label, input($name, "", 'type="password" class="regular-text" placeholder="'
            . esc_attr($hint) . '"'));
    }
    field("whole", __("Gate the whole site", "agegate"), input("whole", "1", 'type="checkbox" '
        . checked(setting("whole"), true, false)));
    field("types", __("Or these kinds of pages", "agegate"), choice("types", $types));
    field("terms", __("Categories, tags and product types", "agegate"), choice("terms", $terms));
    $lists = ["posts" => __("Single pages, by address or number, with all below them", "agegate"),
        "free" => __("Pages that stay free when the whole site is gated", "agegate"),
        "ajax" => __("Actions of admin-ajax that stay free", "agegate"),
        "rest" => __("REST namespaces of other plug-ins that stay free", "agegate")];
    foreach ($lists as $name => $label) {
        field($name, $label, input($name, implode(" ", setting($name))));
    }
    field("members", __("Members who count as adults, by name or e-mail address", "agegate"), input("members",
        implode(" ", $logins)));
    $numbers = ["age" => __("Age", "agegate"), "keep" => __("Hours that a pass lasts in a browser", "agegate"),
        "account" => __("Days that a pass lasts with an account; 0: not at all", "agegate"),
        "limit" => __("Checks begun in half an hour", "agegate"),
        "network" => __("The same, by one network", "agegate")];
    foreach ($numbers as $name => $label) {
        field($name, $label, input($name, (string) setting($name), vsprintf('type="number" min="%d" max="%d"',
            NUMBERS[$name])));
    }
    echo "</table>";
    submit_button();
    echo '</form><form method="post">';
    wp_nonce_field("agegate-try");
    submit_button(__("Test it", "agegate"), "secondary", "try");
    /* translators: 1: an address of this site, 2: another one */
    echo "</form><p>" . esc_html(sprintf(__("Register %1\$s as Success URL and Cancel URL, and %2\$s as Webhook URL.",
        "agegate"),
        home_url("/"), rest_url("agegate/v1/webhook"))) . "</div>";
}

add_action("admin_init", fn() => register_setting("agegate", "agegate", ["sanitize_callback" => read(...)]));
add_action("admin_menu", fn() => add_options_page(__("Age check", "agegate"), __("Age check", "agegate"),
    "manage_options",
    "agegate", settingsPage(...)));
